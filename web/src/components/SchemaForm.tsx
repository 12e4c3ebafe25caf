/** A form made from a capability's parameter schema. It checks while typing with the rules that the manager has. */
import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type FormEvent, type ReactNode, useMemo, useState } from "react";
import { hostsQuery } from "../api/queries";
import type { Capability, Json, JsonObject, JsonSchema, RunCall } from "../api/types";
import { check, defaults, limitsOf, plain, type SchemaProblem } from "../lib/schema";
import { Button, IconButton } from "./Button";
import { CheckBox, Field, inputLook, Select, TextInput } from "./Field";
import { HostPicker, onlyChoice } from "./HostPicker";
import { Inline } from "./Inline";

export interface FormState {
  args: JsonObject;
  edge: number | null;
  problems: SchemaProblem[];
}

export function runCallOf(capability: Capability, state: Pick<FormState, "args" | "edge">): RunCall {
  // In the author's order, whichever field was filled first.
  const order = Object.keys(capability.params.properties ?? {});
  const args = Object.fromEntries(Object.entries(state.args).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)));
  return {
    tool: capability.key,
    scope: capability.scope,
    ...(capability.scope === "host" && state.edge !== null ? { edge_id: state.edge } : {}),
    args,
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
    onChange?.(runCallOf(capability, { args: next, edge }));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problems.length === 0) onSubmit(runCallOf(capability, { args, edge }));
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
                  onChange?.(runCallOf(capability, { args, edge: next }));
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

interface SchemaFieldProps {
  name: string;
  schema: JsonSchema;
  required: boolean;
  value: Json | undefined;
  error: string | null;
  onChange: (value: Json | undefined) => void;
}

function SchemaField({ name, schema, required, value, error, onChange }: SchemaFieldProps) {
  const wanted = plain(schema);
  const hint = [schema.description, limitsOf(schema)].filter(Boolean).join(" ");
  if (wanted.type === "boolean") {
    return (
      <CheckBox
        label={<span className="font-mono">{name}</span>}
        hint={<Inline text={hint} />}
        checked={value === true}
        onChange={(event) => onChange(event.target.checked)}
      />
    );
  }
  if (name === "edge_ids" && wanted.type === "array") {
    return <HostsField hint={hint} required={required} value={value} error={error} onChange={onChange} />;
  }
  if (
    wanted.type === "array" &&
    wanted.items &&
    ["string", "integer", "number"].includes(String(plain(wanted.items).type))
  ) {
    return (
      <ListField
        name={name}
        items={plain(wanted.items)}
        hint={hint}
        required={required}
        value={Array.isArray(value) ? value : []}
        error={error}
        onChange={onChange}
      />
    );
  }
  return (
    <Field label={name} hint={<Inline text={hint} />} required={required} error={error}>
      {({ required: _required, ...field }) => {
        if (wanted.enum) {
          return (
            <Select
              {...field}
              aria-required={required}
              value={value === undefined ? "" : String(value)}
              onChange={(event) => onChange(wanted.enum?.find((each) => String(each) === event.target.value))}
            >
              {(!required || value === undefined) && <option value="">–</option>}
              {wanted.enum.map((each) => (
                <option key={String(each)} value={String(each)}>
                  {String(each)}
                </option>
              ))}
            </Select>
          );
        }
        if (wanted.type === "integer" || wanted.type === "number") {
          return <NumberInput {...field} aria-required={required} value={value} onChange={onChange} />;
        }
        if (wanted.type === "object" || wanted.type === "array" || wanted.type === undefined) {
          return <JsonInput {...field} value={value} onChange={onChange} />;
        }
        return (
          <TextInput
            {...field}
            aria-required={required}
            className="font-mono"
            value={typeof value === "string" ? value : ""}
            // An optional text that is empty is left out; a required one is told as missing.
            onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
          />
        );
      }}
    </Field>
  );
}

function NumberInput({
  value,
  onChange,
  ...field
}: {
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  id: string;
  "aria-required"?: boolean;
}) {
  // What was typed stays, also when it is no number; the check then says so.
  const [text, setText] = useState(value === undefined ? "" : String(value));
  return (
    <TextInput
      {...field}
      inputMode="decimal"
      className="tabular"
      value={text}
      onChange={(event) => {
        const typed = event.target.value;
        setText(typed);
        if (typed.trim() === "") onChange(undefined);
        else onChange(Number.isNaN(Number(typed)) ? typed : Number(typed));
      }}
    />
  );
}

function JsonInput({
  value,
  onChange,
  ...field
}: {
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  id: string;
}) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  return (
    <textarea
      {...field}
      rows={4}
      spellCheck={false}
      placeholder="JSON"
      className={`${inputLook} h-auto w-full py-1.5 font-mono text-12`}
      value={text}
      onChange={(event) => {
        setText(event.target.value);
        if (event.target.value.trim() === "") return onChange(undefined);
        try {
          onChange(JSON.parse(event.target.value));
        } catch {
          // Half-typed JSON is a text, which the check refuses.
          onChange(event.target.value);
        }
      }}
    />
  );
}

interface HostsFieldProps {
  hint: string;
  required: boolean;
  value: Json | undefined;
  error: string | null;
  onChange: (value: Json | undefined) => void;
}

/** Hosts by name instead of their ids. */
function HostsField({ hint, required, value, error, onChange }: HostsFieldProps) {
  const hosts = useQuery(hostsQuery).data ?? [];
  const chosen = Array.isArray(value) ? value : [];
  const set = (next: Json[]) => onChange(next.length === 0 ? undefined : next);
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 text-13 font-medium">
        Hosts
        {required && <span className="text-muted"> (required)</span>}
      </legend>
      <div className="flex max-h-56 flex-col gap-1.5 overflow-y-auto rounded-control border border-line bg-bg p-2">
        {hosts.map((host) => (
          <CheckBox
            key={host.id}
            label={
              <>
                {host.name} <span className="text-muted">{host.state.replaceAll("_", " ")}</span>
              </>
            }
            checked={chosen.includes(host.id)}
            onChange={(event) =>
              set(event.target.checked ? [...chosen, host.id] : chosen.filter((id) => id !== host.id))
            }
          />
        ))}
        {hosts.length === 0 && <p className="text-13 text-muted">No host is enrolled yet.</p>}
      </div>
      <p className="text-12 text-muted">
        {error && (
          <span role="alert" className="text-danger-text">
            {error}{" "}
          </span>
        )}
        <Inline text={hint} />
      </p>
    </fieldset>
  );
}

interface ListFieldProps {
  name: string;
  items: JsonSchema;
  hint: string;
  required: boolean;
  value: Json[];
  error: string | null;
  onChange: (value: Json | undefined) => void;
}

function ListField({ name, items, hint, required, value, error, onChange }: ListFieldProps) {
  const numeric = items.type !== "string";
  const rows = value.length === 0 ? [""] : value;
  const set = (next: Json[]) => onChange(next.length === 0 || (next.length === 1 && next[0] === "") ? undefined : next);
  const read = (typed: string): Json =>
    numeric && typed.trim() !== "" && !Number.isNaN(Number(typed)) ? Number(typed) : typed;
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 text-13 font-medium">
        {name}
        {required && <span className="text-muted"> (required)</span>}
      </legend>
      {rows.map((each, index) => (
        <div key={index} className="flex gap-1">
          <TextInput
            aria-label={`${name}, entry ${index + 1}`}
            aria-invalid={error ? true : undefined}
            className="font-mono"
            value={String(each)}
            onChange={(event) => set(rows.map((old, at) => (at === index ? read(event.target.value) : old)))}
          />
          {rows.length > 1 && (
            <IconButton
              icon={X}
              label={`Remove entry ${index + 1}`}
              tip={false}
              onClick={() => set(rows.filter((_, at) => at !== index))}
            />
          )}
        </div>
      ))}
      <Button size="small" look="quiet" icon={Plus} className="self-start" onClick={() => onChange([...rows, ""])}>
        Add an entry
      </Button>
      <p className="text-12 text-muted">
        {error && (
          <span role="alert" className="text-danger-text">
            {error}{" "}
          </span>
        )}
        <Inline text={hint} />
      </p>
    </fieldset>
  );
}
