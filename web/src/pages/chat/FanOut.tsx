/** The children of a fan-out: a grid of hosts for each distinct outcome, so that equal outputs fold together. */
import { ChevronRight } from "lucide-react";
import { memo, useMemo } from "react";
import { CallBody } from "../../components/CallRow";
import { useKept } from "../../components/kept";
import { gistOf } from "../../components/result/shape";
import { Shown } from "../../components/Shown";
import { StateWord } from "../../components/Words";
import type { ChatCall } from "../../events/reducer";
import { cx } from "../../lib/cx";
import { countStates } from "./turn";

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
  // The most hosts first; a lone one that differs stands below, where it is seen.
  return [...groups.values()].sort((a, b) => b.calls.length - a.calls.length);
}

export const FanOut = memo(function FanOut({ calls }: { calls: ChatCall[] }) {
  const groups = useMemo(() => groupByOutcome(calls), [calls]);
  return (
    <div data-fan-out={calls.length}>
      <p className="mb-1 text-12 text-muted">
        {calls.length} hosts: {countStates(calls)}
        {groups.length < calls.length &&
          ` · ${groups.length} different ${groups.length === 1 ? "outcome" : "outcomes"}`}
      </p>
      <ul className="flex flex-col gap-1">
        {groups.map((group) => (
          <GroupRow key={group.calls[0]?.id} calls={group.calls} />
        ))}
      </ul>
    </div>
  );
});

const nameOf = (call: ChatCall) => call.edgeName ?? `host ${call.edgeId}`;
const MOST_HOSTS = 120;
const GIST = 200;

function GroupRow({ calls }: { calls: ChatCall[] }) {
  const first = calls[0];
  const [open, setOpen] = useKept(`fan-out.${first?.id}`, false);
  if (!first) return null;
  const gist = (first.error ?? first.progress ?? gistOf(first.result ?? null)).slice(0, GIST);
  return (
    <li className="rounded-control bg-bg/60 px-1 py-1" data-outcome-of={calls.length}>
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
        <span className="shrink-0">
          {calls.length === 1 ? <Shown text={nameOf(first)} /> : `${calls.length} hosts the same`}
        </span>
        <span className="min-w-0 flex-1 truncate font-mono text-muted max-md:hidden">
          <Shown text={gist} />
        </span>
        <span className="ml-auto flex">
          <StateWord value={first.state} />
        </span>
      </button>
      {calls.length > 1 && (
        <ul
          aria-label="These hosts"
          className="grid grid-cols-[repeat(auto-fill,minmax(108px,1fr))] gap-x-3 pl-6 text-12 text-muted"
        >
          {calls.slice(0, MOST_HOSTS).map((call) => (
            <li key={call.id} className="truncate" title={nameOf(call)}>
              <Shown text={nameOf(call)} />
            </li>
          ))}
          {calls.length > MOST_HOSTS && <li>and {calls.length - MOST_HOSTS} more</li>}
        </ul>
      )}
      {open && (
        <div className="p-2">
          <CallBody call={first} />
        </div>
      )}
    </li>
  );
}
