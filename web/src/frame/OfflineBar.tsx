import { WifiOff } from "lucide-react";
import { useSyncExternalStore } from "react";
import { stream } from "../events/stream";
import { useSeconds } from "../lib/clock";
import { formatClock, formatSeconds } from "../lib/format";

/** Short interruptions heal by themselves; the bar would only startle. */
const QUIET_SECONDS = 3;

/** Says that the page isn't live and what may be stale. */
export function OfflineBar() {
  const status = useSyncExternalStore(stream.onStatus, stream.getStatus);
  return status === "offline" ? <Bar /> : null;
}

function Bar() {
  const seconds = (useSeconds() - stream.since) / 1000;
  if (seconds < QUIET_SECONDS) return null;
  return (
    <div role="status" className="flex items-center gap-2 border-b border-line bg-raised px-4 py-1 text-12 md:px-6">
      <WifiOff aria-hidden size={14} className="shrink-0 text-mutating" />
      <span>
        No connection to the manager for {formatSeconds(seconds)}. States of hosts and calls are those of{" "}
        {formatClock(new Date(stream.since))}. Trying again by itself.
      </span>
    </div>
  );
}
