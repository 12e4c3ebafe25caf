/** “What would happen to this call?”, answered by the code that decides it. Nothing runs and nothing is recorded. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Ban, CircleAlert, CircleCheck, Hourglass, type LucideIcon } from "lucide-react";
import { useMemo } from "react";
import type { ClassReason, Explanation } from "../../api/approvals";
import { ApiError, api, messageOf } from "../../api/client";
import { capabilitiesQuery } from "../../api/queries";
import type { Capability, RunCall } from "../../api/types";
import { Field, Select } from "../../components/Field";
import { Inline } from "../../components/Inline";
import { Card, Facts, Page } from "../../components/Page";
import { SchemaForm } from "../../components/SchemaForm";
import { Failed, SkeletonRows } from "../../components/States";
import { ClassWord } from "../../components/Words";
import { partOf } from "../../lib/approval";
import { cx } from "../../lib/cx";
import { humanKey, sentence } from "../../lib/format";

const idOf = (capability: Pick<Capability, "scope" | "key">) => `${capability.scope}/${capability.key}`;

export function PolicyPage() {
  const capabilities = useQuery(capabilitiesQuery);
  const search = useSearch({ from: "/settings/policy" });
  const navigate = useNavigate({ from: "/settings/policy" });
  const groups = useMemo(() => {
    const byCategory = new Map<string, Capability[]>();
    for (const each of capabilities.data ?? [])
      byCategory.set(each.category, [...(byCategory.get(each.category) ?? []), each]);
    return [...byCategory].sort(([a], [b]) => a.localeCompare(b));
  }, [capabilities.data]);
  const chosen = capabilities.data?.find((each) => idOf(each) === search.tool);
  return (
    <Page title="Policy">
      <div className="flex max-w-2xl flex-col gap-4 px-4 pb-6 md:px-6">
        <p className="text-13 text-muted">
          What would happen to this call? The answer comes from the code that decides it. Nothing runs and nothing is
          recorded.
        </p>
        {capabilities.error && (
          <Failed
            what="The skills could not be read."
            error={capabilities.error}
            onRetry={() => void capabilities.refetch()}
          />
        )}
        {capabilities.isPending && <SkeletonRows rows={3} />}
        {capabilities.data && (
          <Field label="Skill or tool">
            {(field) => (
              <Select
                {...field}
                value={chosen ? idOf(chosen) : ""}
                onChange={(event) =>
                  void navigate({ search: { tool: event.target.value || undefined }, replace: true })
                }
              >
                <option value="">Choose one…</option>
                {groups.map(([category, members]) => (
                  <optgroup key={category} label={humanKey(category)}>
                    {members.map((each) => (
                      <option key={idOf(each)} value={idOf(each)}>
                        {each.key} · {each.scope}
                      </option>
                    ))}
                  </optgroup>
                ))}
              </Select>
            )}
          </Field>
        )}
        {chosen && <Tester key={idOf(chosen)} capability={chosen} />}
      </div>
    </Page>
  );
}

function Tester({ capability }: { capability: Capability }) {
  const ask = useMutation({ mutationFn: (call: RunCall) => api.explain(call) });
  return (
    <>
      <Card title={`A call of ${capability.key}`}>
        <div className="p-4">
          <SchemaForm
            capability={capability}
            anyHost
            submitLabel="What would happen?"
            busy={ask.isPending}
            onSubmit={(call) => ask.mutate(call)}
            told={ask.error instanceof ApiError ? ask.error.problem.errors : undefined}
          />
        </div>
      </Card>
      {ask.error && (
        <p role="alert" className="text-13 text-danger-text">
          {messageOf(ask.error)}
        </p>
      )}
      {ask.data && ask.variables && <Answer answer={ask.data} call={ask.variables} />}
    </>
  );
}

const ANSWERS: Record<Explanation["decision"], { icon: LucideIcon; colour: string; words: string }> = {
  run: { icon: CircleCheck, colour: "text-safe", words: "It would run at once" },
  ask: { icon: Hourglass, colour: "text-mutating", words: "It would wait for a person" },
  deny: { icon: Ban, colour: "text-danger-text", words: "It would be refused" },
  invalid: { icon: CircleAlert, colour: "text-mutating", words: "It is no valid call" },
};

function Answer({ answer, call }: { answer: Explanation; call: RunCall }) {
  const { icon: Icon, colour, words } = ANSWERS[answer.decision];
  const command = typeof call.args.command === "string" ? call.args.command : "";
  return (
    <section
      role="status"
      aria-label="What would happen"
      data-explanation={answer.decision}
      className="flex flex-col gap-3 rounded-card border border-line bg-surface p-4 text-13"
    >
      <h2 className={cx("flex items-center gap-2 text-14 font-semibold", colour)}>
        <Icon aria-hidden size={16} />
        {words}
      </h2>
      {answer.reason && <p>{sentence(answer.reason)}</p>}
      <Facts
        rows={[
          ["Class", <ClassWord key="class" value={answer.class} />],
          [
            "Because",
            answer.class_reasons.length > 0 ? (
              <ul key="because" className="flex flex-col gap-0.5">
                {answer.class_reasons.map((reason, index) => (
                  <Because key={index} reason={reason} command={command} />
                ))}
              </ul>
            ) : null,
          ],
          [
            "Rule",
            answer.rule && (
              <code key="rule" className="font-mono text-12 break-words">
                {answer.rule}
              </code>
            ),
          ],
          ["Who decides", answer.approval?.who && <Inline key="who" text={answer.approval.who} />],
          [
            "Standing grant",
            answer.approval?.grant_id ? (
              <Link
                key="grant"
                to="/approvals"
                search={{ tab: "grants" }}
                className="text-accent-text underline underline-offset-2"
              >
                one fits
              </Link>
            ) : null,
          ],
        ]}
      />
    </section>
  );
}

function Because({ reason, command }: { reason: ClassReason; command: string }) {
  const part = partOf(command, reason);
  return (
    <li className="break-words">
      {part !== null && <code className="mr-2 font-mono text-12 break-all">{part}</code>}
      <span className="text-muted">{reason.text}</span>
    </li>
  );
}
