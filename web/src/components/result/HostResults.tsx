/** What several hosts answered: equal answers folded together. */
import { ChevronRight } from "lucide-react";
import { Shown } from "../Shown";
import { StateWord } from "../Words";
import { foldEqual, type HostResult } from "./hosts";
import { Piece } from "./Piece";

export function HostResults({ hosts }: { hosts: HostResult[] }) {
  const [only] = hosts;
  if (only && hosts.length === 1) return <OneHost host={only} />;
  return (
    <div className="flex flex-col">
      {foldEqual(hosts).map((group) => (
        <details
          key={group[0]?.edge_id}
          className="group border-b border-line/60 last:border-b-0"
          open={hosts.length <= 3}
        >
          <summary className="flex min-h-8 items-center gap-2 text-13">
            <ChevronRight
              aria-hidden
              size={12}
              className="shrink-0 text-muted transition-transform group-open:rotate-90"
            />
            <span className="min-w-0 truncate font-medium">{group.map((host) => host.name).join(", ")}</span>
            {group.length > 1 && <span className="text-12 text-muted">{group.length} the same</span>}
            <span className="ml-auto flex">{group[0] && <StateWord value={group[0].state} />}</span>
          </summary>
          <div className="pb-3 pl-5">{group[0] && <OneHost host={group[0]} />}</div>
        </details>
      ))}
    </div>
  );
}

function OneHost({ host }: { host: HostResult }) {
  if (host.result !== undefined && host.result !== null) return <Piece name="" value={host.result} depth={1} />;
  return (
    <p className="text-13 text-muted">
      <Shown text={host.error ?? "No result."} />
    </p>
  );
}
