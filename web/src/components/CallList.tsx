/** Calls as table rows that open their detail in the audit. */
import { Link } from "@tanstack/react-router";
import type { Call } from "../api/types";
import { cx } from "../lib/cx";
import { formatDuration } from "../lib/format";
import { gistOf } from "./result/shape";
import { Time } from "./Time";
import { ClassIcon, StateWord } from "./Words";

export function whoOf(call: Call): string {
  const who = call.caller.user_id === 0 ? "model" : call.caller.name;
  return call.on_behalf_of ? `${who} for ${call.on_behalf_of.name}` : who;
}

export function CallList({ calls, host = true }: { calls: Call[]; host?: boolean }) {
  return (
    <ul className="text-13">
      {calls.map((call) => (
        <li
          key={call.id}
          className="relative flex min-h-9 items-center gap-2 border-b border-line/60 px-4 last:border-b-0 hover:bg-raised/50"
        >
          <ClassIcon value={call.class} />
          <Link
            to="/admin/audit"
            search={{ call: call.id }}
            data-row
            className="shrink-0 font-mono text-12 font-medium after:absolute after:inset-0"
          >
            {call.tool}
          </Link>
          {host && call.edge_name && <span className="truncate text-12 text-muted">on {call.edge_name}</span>}
          <span className="min-w-0 flex-1 truncate font-mono text-12 text-muted max-md:hidden">
            {gistOf(call.args)}
          </span>
          <span className="truncate text-12 text-muted max-md:hidden">{whoOf(call)}</span>
          <span className="ml-auto flex w-24">
            <StateWord value={call.state} />
          </span>
          <span className={cx("num w-14 text-12 text-muted max-md:hidden")}>
            {typeof call.duration_ms === "number" ? formatDuration(call.duration_ms) : ""}
          </span>
          <span className="num w-20 text-12 text-muted">
            <Time at={call.started_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
