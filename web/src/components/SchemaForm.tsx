/** A form made from a capability's parameter schema. It checks while typing with the rules that the manager has. */
import { type FormEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { StepName } from "../api/signing";
import type { Capability, JsonObject, RunCall } from "../api/types";
import { check, defaults, type SchemaProblem } from "../lib/schema";
import { stepText } from "../lib/signing";
import { Button } from "./Button";
import { Field } from "./Field";
import { HostPicker, onlyChoice } from "./HostPicker";
import { ProcedureField, useProcedure } from "./ProcedureField";
import { SchemaField } from "./SchemaField";

export interface FormState {
  args: JsonObject;
  edge: number | null;
  problems: SchemaProblem[];
}

export function runCallOf(
  capability: Capability,
  state: Pick<FormState, "args" | "edge"> & { step?: StepName },
): RunCall {
  // In the author's order, whichever field was filled first.
  const order = Object.keys(capability.params.properties ?? {});
  const args = Object.fromEntries(Object.entries(state.args).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)));
  return {
    tool: capability.key,
    scope: capability.scope,
    ...(capability.scope === "host" && state.edge !== null ? { edge_id: state.edge } : {}),
    args,
    ...(state.step ? { sop: state.step } : {}),
  };
}

interface SchemaFormProps {
  capability: Capability;
  submitLabel: string;
  busy?: boolean;
  reason?: string | null;
  edge?: number | null;
  onSubmit: (call: RunCall) => void;
  onChange?: (call: RunCall) => void;
  extra?: ReactNode;
  /** Problems that the manager found. */
  told?: SchemaProblem[];
  compact?: boolean;
  /** Hosts that can't run it now may be chosen as well: it is only asked about. */
  anyHost?: boolean;
}

export function SchemaForm({
  capability,
  submitLabel,
  busy,
  reason,
  edge: startEdge,
  onSubmit,
  onChange,
  extra,
  told = [],
  compact,
  anyHost,
}: SchemaFormProps) {
  const [args, setArgs] = useState<JsonObject>(() => defaults(capability.params));
  const [edge, setEdge] = useState<number | null>(() => startEdge ?? onlyChoice(capability.hosts));
  const [touched, setTouched] = useState<Set<string>>(new Set());
  const [tried, setTried] = useState(false);

  const problems = useMemo(() => {
    const found = check(capability.params, args);
    if (capability.scope === "host" && edge === null)
      found.unshift({ at: "edge_id", message: "choose the host to run on" });
    return found;
  }, [capability, args, edge]);

  const procedure = useProcedure(capability, problems.length === 0 ? runCallOf(capability, { args, edge }) : null);
  const { step } = procedure;
  // The procedure is found out after the last change of a field, and belongs to the call.
  const named = step && stepText(step);
  const change = useRef(onChange);
  change.current = onChange;
  const mounted = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the other parts tells of itself
  useEffect(() => {
    // A message that somebody writes by hand isn't written anew because its form below knows a procedure.
    if (mounted.current && (touched.size > 0 || !compact)) {
      change.current?.(runCallOf(capability, { args, edge, step }));
    }
    mounted.current = true;
  }, [named]);

  const problemOf = (key: string): string | null => {
    const own = (problem: SchemaProblem) => problem.at === key || problem.at.startsWith(`${key}/`);
    const shown = tried || touched.has(key) ? problems.find(own) : undefined;
    return (
      shown?.message ?? told.find((problem) => own({ ...problem, at: problem.at.replace(/^\//, "") }))?.message ?? null
    );
  };

  const update = (next: JsonObject, key: string) => {
    setArgs(next);
    setTouched((before) => new Set(before).add(key));
    onChange?.(runCallOf(capability, { args: next, edge, step }));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problems.length > 0) return;
    if (procedure.known) {
      if (!procedure.undecided) onSubmit(runCallOf(capability, { args, edge, step }));
      return;
    }
    // Sent before the answer was here: it is waited for, so that a call doesn't go out without its procedure.
    void procedure.find(runCallOf(capability, { args, edge })).then((found) => {
      if (!found.undecided) onSubmit(runCallOf(capability, { args, edge, step: found.step }));
    });
  };

  const required = new Set(capability.params.required ?? []);
  // Required ones first, else in the author's order.
  const fields = Object.entries(capability.params.properties ?? {}).sort(
    ([a], [b]) => Number(required.has(b)) - Number(required.has(a)),
  );
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-3">
      <div className={compact ? "grid grid-cols-1 gap-3 sm:grid-cols-2" : "flex flex-col gap-3"}>
        {capability.scope === "host" && (
          <Field label="Host" required error={problemOf("edge_id")}>
            {({ required: _required, ...field }) => (
              <HostPicker
                {...field}
                hosts={capability.hosts}
                any={anyHost}
                value={edge}
                onChange={(next) => {
                  setEdge(next);
                  onChange?.(runCallOf(capability, { args, edge: next, step }));
                }}
              />
            )}
          </Field>
        )}
        {fields.map(([key, schema]) => (
          <SchemaField
            key={key}
            name={key}
            schema={schema}
            required={required.has(key)}
            value={args[key]}
            error={problemOf(key)}
            onChange={(value) => {
              const { [key]: _old, ...rest } = args;
              update(value === undefined ? rest : { ...rest, [key]: value }, key);
            }}
          />
        ))}
      </div>
      {procedure.field && (
        <ProcedureField
          {...procedure.field}
          problem={tried && procedure.undecided ? "Choose the procedure that it goes by." : null}
        />
      )}
      {fields.length === 0 && capability.scope === "manager" && (
        <p className="text-13 text-muted">It takes no parameters.</p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" busy={busy} reason={reason}>
          {submitLabel}
        </Button>
        {extra}
        {reason && <span className="text-12 text-muted">{reason}</span>}
      </div>
    </form>
  );
}
