/** The children of a fan-out: a line per distinct outcome, so that equal outputs fold together. */
import { ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import { CallBody } from "../../components/CallRow";
import { StateWord } from "../../components/Words";
import type { ChatCall } from "../../events/reducer";
import { cx } from "../../lib/cx";

interface Group {
  key: string;
  calls: ChatCall[];
}

export function groupByOutcome(calls: readonly ChatCall[]): Group[] {
  const groups = new Map<string, Group>();
  for (const call of calls) {
    const key = JSON.stringify([call.tool, call.state, call.error, call.result ?? call.preview ?? null]);
    const group = groups.get(key);
    if (group) group.calls.push(call);
    else groups.set(key, { key, calls: [call] });
  }
  return [...groups.values()];
}

export function FanOut({ calls }: { calls: ChatCall[] }) {
  const groups = useMemo(() => groupByOutcome(calls), [calls]);
  return (
    <ul className="flex flex-col gap-0.5">
      {groups.map((group) => (
        <GroupRow key={group.calls[0]?.id} calls={group.calls} />
      ))}
    </ul>
  );
}

function GroupRow({ calls }: { calls: ChatCall[] }) {
  const [open, setOpen] = useState(false);
  const first = calls[0];
  if (!first) return null;
  const names = calls.map((call) => call.edgeName ?? `host ${call.edgeId}`).join(", ");
  return (
    <li>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex h-7 w-full min-w-0 items-center gap-2 rounded-control px-1 text-left text-12 hover:bg-raised"
      >
        <ChevronRight
          aria-hidden
          size={12}
          className={cx("shrink-0 text-muted transition-transform", open && "rotate-90")}
        />
        <span className="min-w-0 truncate">{names}</span>
        {calls.length > 1 && <span className="text-muted">{calls.length} the same</span>}
        <span className="ml-auto flex">
          <StateWord value={first.state} />
        </span>
      </button>
      {open && (
        <div className="p-2">
          <CallBody call={first} />
        </div>
      )}
    </li>
  );
}
