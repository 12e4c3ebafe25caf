/** Filters as chips, kept in the address. */
import { useQuery } from "@tanstack/react-query";
import { ListFilter, X } from "lucide-react";
import { useEffect, useState } from "react";
import { capabilitiesQuery, hostsQuery, sessionsQuery, usersQuery } from "../../api/queries";
import { CALL_STATES, CLASSES, ORIGINS } from "../../api/words";
import { Button } from "../../components/Button";
import { Field, inputLook, Select, TextInput } from "../../components/Field";
import { Popover } from "../../components/Popover";
import { stateWord } from "../../components/Words";
import { useMe } from "../../frame/session";
import { cx } from "../../lib/cx";
import { formatLocal } from "../../lib/format";
import { may } from "../../lib/may";
import { type AuditSearch, DEFAULT_RANGE, RANGES, type Range } from "./search";

const RANGE_WORDS: Record<Range | "all", string> = {
  "1h": "1 h",
  "24h": "24 h",
  "7d": "7 d",
  "30d": "30 d",
  all: "All",
};

interface FiltersProps {
  search: AuditSearch;
  onChange: (change: Partial<AuditSearch>) => void;
}

export function Filters({ search, onChange }: FiltersProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 px-4 pb-3 md:px-6">
      <TextFilter value={search.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
      <div role="group" aria-label="Time" className="inline-flex rounded-control border border-line p-0.5">
        {([...Object.keys(RANGES), "all"] as (Range | "all")[]).map((range) => {
          const on = !search.from && !search.to && (search.range ?? DEFAULT_RANGE) === range;
          return (
            <button
              key={range}
              type="button"
              aria-pressed={on}
              onClick={() =>
                onChange({ range: range === DEFAULT_RANGE ? undefined : range, from: undefined, to: undefined })
              }
              className={cx(
                "h-6.5 rounded-[4px] px-2 text-12",
                on ? "bg-raised text-text" : "text-muted hover:text-text",
              )}
            >
              {RANGE_WORDS[range]}
            </button>
          );
        })}
      </div>
      <AddFilter search={search} onChange={onChange} />
      <Chips search={search} onChange={onChange} />
    </div>
  );
}

const TYPING_MS = 250;

/** Types freely and filters a moment later. */
function TextFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <input
      type="search"
      data-filter
      aria-label="Search calls"
      placeholder="Search arguments, errors"
      className={cx(inputLook, "w-56 max-w-full")}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}

function AddFilter({ search, onChange }: FiltersProps) {
  const me = useMe();
  const hosts = useQuery(hostsQuery).data ?? [];
  const capabilities = useQuery(capabilitiesQuery).data ?? [];
  const sessions = useQuery(sessionsQuery).data ?? [];
  const users = useQuery({ ...usersQuery, enabled: may.administer(me) === null }).data ?? [me.user];
  const tools = [...new Set(capabilities.map((each) => each.key))].sort();
  const choose = (name: keyof AuditSearch, label: string, options: [string | number, string][]) => (
    <Field label={label}>
      {(field) => (
        <Select
          {...field}
          value={String(search[name] ?? "")}
          onChange={(event) =>
            onChange({
              [name]:
                typeof options[0]?.[0] === "number" && event.target.value
                  ? Number(event.target.value)
                  : event.target.value || undefined,
            })
          }
        >
          <option value="">Any</option>
          {options.map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
  return (
    <Popover
      label="Filters"
      role="dialog"
      align="start"
      className="w-80 max-w-[calc(100vw-16px)] p-3"
      button={(button) => (
        <Button icon={ListFilter} {...button}>
          Filter
        </Button>
      )}
    >
      <div className="grid grid-cols-2 gap-3">
        {choose(
          "tool",
          "Tool",
          tools.map((tool) => [tool, tool]),
        )}
        {choose(
          "edge",
          "Host",
          hosts.map((host) => [host.id, host.name]),
        )}
        {choose(
          "state",
          "State",
          CALL_STATES.map((state) => [state, stateWord(state)]),
        )}
        {choose(
          "class",
          "Class",
          CLASSES.map((each) => [each, each]),
        )}
        {choose(
          "origin",
          "Origin",
          ORIGINS.map((origin) => [origin, origin]),
        )}
        {choose("user", "User", [...users.map((user): [number, string] => [user.id, user.name]), [0, "model"]])}
        <div className="col-span-2">
          {choose(
            "session",
            "Chat",
            sessions.map((session) => [session.id, session.title || "New chat"]),
          )}
        </div>
        <TimeField label="From" value={search.from} onChange={(from) => onChange({ from, range: undefined })} />
        <TimeField label="To" value={search.to} onChange={(to) => onChange({ to, range: undefined })} />
      </div>
    </Popover>
  );
}

function TimeField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <Field label={label}>
      {(field) => (
        <TextInput
          {...field}
          type="datetime-local"
          value={value ? localInput(value) : ""}
          onChange={(event) => {
            const at = new Date(event.target.value);
            onChange(Number.isNaN(at.getTime()) ? undefined : at.toISOString());
          }}
        />
      )}
    </Field>
  );
}

/** What a `datetime-local` field takes: local time without a zone. */
function localInput(iso: string): string {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function Chips({ search, onChange }: FiltersProps) {
  const hosts = useQuery(hostsQuery).data;
  const sessions = useQuery(sessionsQuery).data;
  const chips: [keyof AuditSearch, string][] = [];
  if (search.tool) chips.push(["tool", search.tool]);
  if (search.edge !== undefined)
    chips.push(["edge", `on ${hosts?.find((host) => host.id === search.edge)?.name ?? `host ${search.edge}`}`]);
  if (search.state) chips.push(["state", search.state.replaceAll("_", " ")]);
  if (search.class) chips.push(["class", search.class]);
  if (search.origin) chips.push(["origin", `from ${search.origin}`]);
  if (search.user !== undefined) chips.push(["user", search.user === 0 ? "by the model" : `user ${search.user}`]);
  if (search.session)
    chips.push([
      "session",
      `chat “${sessions?.find((session) => session.id === search.session)?.title ?? search.session.slice(0, 8)}”`,
    ]);
  if (search.from) chips.push(["from", `from ${formatLocal(Date.parse(search.from))}`]);
  if (search.to) chips.push(["to", `to ${formatLocal(Date.parse(search.to))}`]);
  return (
    <>
      {chips.map(([name, word]) => (
        <span
          key={name}
          className="inline-flex h-7 max-w-full items-center rounded-control border border-line bg-raised pl-2 text-12"
        >
          <span className="truncate">{word}</span>
          <button
            type="button"
            aria-label={`Remove the filter ${word}`}
            onClick={() => onChange({ [name]: undefined })}
            className="flex size-7 items-center justify-center text-muted hover:text-text"
          >
            <X aria-hidden size={12} />
          </button>
        </span>
      ))}
      {chips.length > 1 && (
        <Button
          size="small"
          look="quiet"
          onClick={() => onChange(Object.fromEntries(chips.map(([name]) => [name, undefined])))}
        >
          Clear
        </Button>
      )}
    </>
  );
}
