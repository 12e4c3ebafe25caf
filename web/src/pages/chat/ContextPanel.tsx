/** Beside the conversation: hosts in play, the calls of the last turn, what it cost. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, type ReactNode } from "react";
import { api, messageOf } from "../../api/client";
import { hostsQuery, modelsQuery, sessionsQuery } from "../../api/queries";
import type { Session } from "../../api/types";
import { Select } from "../../components/Field";
import { targetIds } from "../../components/targets";
import { toast } from "../../components/toasts";
import { ClassIcon, HostStateWord, StateWord } from "../../components/Words";
import type { Turn } from "../../events/reducer";
import { formatNumber } from "../../lib/format";

interface ContextProps {
  turns: Turn[];
  session: Session | undefined;
}

/** It looks at all turns, so it isn't drawn again for text that streams in, which it doesn't show. */
function saysTheSame(before: ContextProps, after: ContextProps): boolean {
  if (before.session !== after.session || before.turns.length !== after.turns.length) return false;
  const [was, is] = [before.turns.at(-1), after.turns.at(-1)];
  return was?.id === is?.id && was?.calls === is?.calls && was?.usage === is?.usage && was?.model === is?.model;
}

export const ContextPanel = memo(function ContextPanel({ turns, session }: ContextProps) {
  const hosts = useQuery(hostsQuery).data ?? [];
  const last = turns.at(-1);
  const calls = last ? Object.values(last.calls).filter((call) => call.parentId === null) : [];
  const inPlay = new Map<number, string>();
  for (const turn of [...turns].reverse()) {
    for (const call of Object.values(turn.calls)) {
      for (const id of targetIds(call)) inPlay.set(id, (id === call.edgeId ? call.edgeName : null) ?? `host ${id}`);
    }
  }
  const total = turns.reduce(
    (sum, turn) => sum + (turn.usage ? turn.usage.input_tokens + turn.usage.output_tokens : 0),
    0,
  );
  return (
    <div className="flex flex-col gap-5 p-4 text-13">
      <Section title="Hosts in play">
        {inPlay.size === 0 && <p className="text-muted">None yet.</p>}
        <ul className="flex flex-col gap-1">
          {[...inPlay].map(([id, name]) => {
            const host = hosts.find((each) => each.id === id);
            return (
              <li key={id} className="flex min-h-6 items-center justify-between gap-2">
                <Link
                  to="/hosts/$hostId"
                  params={{ hostId: String(id) }}
                  className="truncate underline-offset-2 hover:underline"
                >
                  {host?.name ?? name}
                </Link>
                <span className="text-12">{host && <HostStateWord value={host.state} />}</span>
              </li>
            );
          })}
        </ul>
      </Section>
      <Section title="Calls of this turn">
        {calls.length === 0 && <p className="text-muted">None.</p>}
        <ul className="flex flex-col gap-1">
          {calls.map((call) => (
            <li key={call.id} className="flex min-h-6 min-w-0 items-center gap-2">
              <ClassIcon value={call.class} />
              <Link
                to="/admin/audit"
                search={{ call: call.id }}
                className="min-w-0 truncate font-mono text-12 underline-offset-2 hover:underline"
              >
                {call.tool}
              </Link>
              <span className="ml-auto flex">
                <StateWord value={call.state} />
              </span>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Model and cost">
        {session && <ModelChoice session={session} />}
        <dl className="grid grid-cols-[1fr_auto] gap-y-1">
          <dt className="text-muted">Last answer by</dt>
          <dd className="text-right">{modelWord(last)}</dd>
          <dt className="text-muted">Tokens, this turn</dt>
          <dd className="num">
            {last?.usage
              ? `${formatNumber(last.usage.input_tokens)} in, ${formatNumber(last.usage.output_tokens)} out`
              : "–"}
          </dd>
          <dt className="text-muted">Tokens, this chat</dt>
          <dd className="num">{formatNumber(total)}</dd>
        </dl>
      </Section>
    </div>
  );
}, saysTheSame);

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-2 text-12 font-medium text-muted">{title}</h2>
      {children}
    </section>
  );
}

/** Which model this chat uses from its next turn on. */
function ModelChoice({ session }: { session: Session }) {
  const client = useQueryClient();
  const models = useQuery(modelsQuery).data ?? [];
  const choose = useMutation({
    mutationFn: (model: string | null) => api.updateSession(session.id, { model }),
    onSuccess: () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
    onError: (error) => toast(messageOf(error), "error"),
  });
  if (models.length < 2) return null;
  const fallback = models.find((model) => model.default)?.name;
  return (
    <Select
      aria-label="Model of this chat"
      className="mb-2"
      disabled={choose.isPending}
      value={session.model ?? ""}
      onChange={(event) => choose.mutate(event.target.value || null)}
    >
      <option value="">The default{fallback ? `: ${fallback}` : ""}</option>
      {models.map((model) => (
        <option key={model.name} value={model.name}>
          {model.name}
        </option>
      ))}
    </Select>
  );
}

function modelWord(turn: Turn | undefined): string {
  if (!turn?.model) return "–";
  if (turn.model.provider === "command") return "none, your own call";
  return turn.model.builtin ? "built-in router" : turn.model.model;
}
