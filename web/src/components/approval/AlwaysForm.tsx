/** A standing grant: where, with which arguments, for how long, how often. */
import { type FormEvent, useId, useState } from "react";
import type { Approval, GrantWish } from "../../api/approvals";
import { DEFAULT_EXPIRY_HOURS, expiriesFor, grantSentence } from "../../lib/approval";
import { Button } from "../Button";
import { CheckBox, Field, Select, TextInput } from "../Field";

export function AlwaysForm({ approval, onAllow }: { approval: Approval; onAllow: (wish: GrantWish) => void }) {
  const onHost = approval.scope === "host";
  const labels = Object.entries(approval.edge_labels ?? {});
  const [edges, setEdges] = useState<GrantWish["edges"]>(onHost ? "this" : "any");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(labels.slice(0, 1).map(([key]) => key)));
  const [args, setArgs] = useState<GrantWish["arguments"]>("exact");
  const [hours, setHours] = useState(DEFAULT_EXPIRY_HOURS);
  const [uses, setUses] = useState("");
  const count = uses.trim() === "" ? undefined : Number(uses);
  const countProblem =
    count !== undefined && !(Number.isInteger(count) && count >= 1 && count <= 1_000_000)
      ? "A whole number from 1, or nothing"
      : null;
  const labelProblem = edges === "labels" && chosen.size === 0 ? "Choose a label" : null;
  const wish: GrantWish = {
    edges,
    ...(edges === "labels" ? { labels: Object.fromEntries(labels.filter(([key]) => chosen.has(key))) } : {}),
    arguments: args,
    expires_in_hours: hours,
    ...(count !== undefined ? { uses: count } : {}),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!countProblem && !labelProblem) onAllow(wish);
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-3">
      {onHost && (
        <Choices legend="Where">
          <Choice checked={edges === "this"} onChoose={() => setEdges("this")}>
            on {approval.edge_name}
          </Choice>
          {labels.length > 0 && (
            <Choice checked={edges === "labels"} onChoose={() => setEdges("labels")}>
              on hosts with these labels
            </Choice>
          )}
          {edges === "labels" && (
            <div className="flex flex-col gap-1 pl-6">
              {labels.map(([key, value]) => (
                <CheckBox
                  key={key}
                  label={
                    <span className="font-mono text-12">
                      {key}={value}
                    </span>
                  }
                  checked={chosen.has(key)}
                  onChange={(event) => {
                    const next = new Set(chosen);
                    if (event.target.checked) next.add(key);
                    else next.delete(key);
                    setChosen(next);
                  }}
                />
              ))}
              {labelProblem && (
                <p role="alert" className="text-12 text-danger-text">
                  {labelProblem}
                </p>
              )}
            </div>
          )}
          <Choice checked={edges === "any"} onChoose={() => setEdges("any")}>
            on every host
          </Choice>
        </Choices>
      )}
      {approval.args_scope_fixed ? (
        <p className="text-12 text-muted">For a command a grant always means exactly this one.</p>
      ) : (
        <Choices legend="Arguments">
          <Choice checked={args === "exact"} onChoose={() => setArgs("exact")}>
            exactly these
          </Choice>
          <Choice checked={args === "any"} onChoose={() => setArgs("any")}>
            any
          </Choice>
        </Choices>
      )}
      <div className="grid grid-cols-2 gap-3">
        <Field label="For">
          {(field) => (
            <Select {...field} value={hours} onChange={(event) => setHours(Number(event.target.value))}>
              {expiriesFor(approval).map((each) => (
                <option key={each.hours} value={each.hours}>
                  {each.word}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Times" error={countProblem}>
          {(field) => (
            <TextInput
              {...field}
              inputMode="numeric"
              placeholder="any"
              className="tabular"
              value={uses}
              onChange={(event) => setUses(event.target.value)}
            />
          )}
        </Field>
      </div>
      <p className="text-12 text-muted" data-grant-sentence>
        {grantSentence(approval, wish)} It can be revoked at any time.
      </p>
      <Button type="submit" look="primary" className="max-md:h-11">
        Always allow
      </Button>
    </form>
  );
}

function Choices({ legend, children }: { legend: string; children: React.ReactNode }) {
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 text-13 font-medium">{legend}</legend>
      {children}
    </fieldset>
  );
}

function Choice({
  checked,
  onChoose,
  children,
}: {
  checked: boolean;
  onChoose: () => void;
  children: React.ReactNode;
}) {
  const id = useId();
  return (
    <label htmlFor={id} className="flex items-center gap-2 text-13 max-md:min-h-8">
      <input id={id} type="radio" checked={checked} onChange={onChoose} className="size-4 accent-accent" />
      <span className="min-w-0 truncate">{children}</span>
    </label>
  );
}
