import { useNow } from "../lib/clock";
import { formatClock, formatTime, formatUtc } from "../lib/format";

/** Local time, UTC on hover; relative for the last day. */
export function Time({ at, clock }: { at: string; clock?: boolean }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatUtc(at)} className="tabular whitespace-nowrap">
      {clock ? formatClock(new Date(at)) : formatTime(at, now)}
    </time>
  );
}
