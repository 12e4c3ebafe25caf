/** One parameter as its schema wants it: the right widget, with its hint and its problem. */
import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { hostsQuery } from "../api/queries";
import type { Json, JsonSchema } from "../api/types";
import { limitsOf, plain } from "../lib/schema";
import { Button, IconButton } from "./Button";
import { CheckBox, Field, inputLook, Select, TextInput } from "./Field";
import { Inline } from "./Inline";

interface SchemaFieldProps {
  name: string;
  schema: JsonSchema;
  required: boolean;
  value: Json | undefined;
  error: string | null;
  onChange: (value: Json | undefined) => void;
}

export function SchemaField({ name, schema, required, value, error, onChange }: SchemaFieldProps) {
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
