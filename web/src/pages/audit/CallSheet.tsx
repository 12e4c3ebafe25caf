/** Everything about one call, with its rows of the chained log. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Link2 } from "lucide-react";
import { approvalQuery, callQuery, chainQuery } from "../../api/queries";
import type { AuditRow, CallDetail } from "../../api/types";
import { ApprovalCard } from "../../components/approval/ApprovalCard";
import { CallList, whoOf } from "../../components/CallList";
import { CallBody } from "../../components/CallRow";
import { Id } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { Facts } from "../../components/Page";
import { JsonTree } from "../../components/result/JsonTree";
import { Failed, SkeletonRows } from "../../components/States";
import { shownCall } from "../../components/shown-call";
import { Time } from "../../components/Time";
import { ClassWord, StateWord } from "../../components/Words";
import { decisionLine } from "../../lib/approval";
import { formatDuration } from "../../lib/format";

export function CallSheet({ id, onClose }: { id: string | null; onClose: () => void }) {
  return (
    <Dialog open={id !== null} onClose={onClose} title="Call" kind="sheet" wide>
      {id && <Detail id={id} />}
    </Dialog>
  );
}

function Detail({ id }: { id: string }) {
  const query = useQuery(callQuery(id));
  if (query.error)
    return <Failed what="This call could not be read." error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <SkeletonRows />;
  const call = query.data;
  return (
    <div className="flex flex-col gap-6" data-call-detail={call.id}>
      <header className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h3 className="font-mono text-16 font-medium">{call.tool}</h3>
        <ClassWord value={call.class} />
        <StateWord value={call.state} />
        {typeof call.duration_ms === "number" && (
          <span className="text-12 text-muted tabular">{formatDuration(call.duration_ms)}</span>
        )}
      </header>
      <Facts
        rows={[
          ["Who", `${whoOf(call)} (${call.caller.role})`],
          ["From", <From key="from" call={call} />],
          [
            "Host",
            call.edge_id ? (
              <Link
                key="host"
                to="/hosts/$hostId"
                params={{ hostId: String(call.edge_id) }}
                className="underline underline-offset-2"
              >
                {call.edge_name ?? `host ${call.edge_id}`}
              </Link>
            ) : call.scope === "manager" ? (
              "in the manager"
            ) : null,
          ],
          ["Started", <Time key="started" at={call.started_at} />],
          ["Policy", call.policy_decision],
          [
            "Decision",
            call.approval_id && call.state !== "awaiting_approval" ? (
              <Decision key="decision" id={call.approval_id} />
            ) : null,
          ],
          [
            "Procedure",
            call.sop && (
              <span key="procedure" className="font-mono text-12 break-all">
                {call.sop}
              </span>
            ),
          ],
          ["Sandbox", call.sandbox],
          [
            "Part of",
            call.parent_call_id && (
              <Link
                key="parent"
                to="/admin/audit"
                search={{ call: call.parent_call_id }}
                className="underline underline-offset-2"
              >
                the call that made it
              </Link>
            ),
          ],
          ["Definition", call.definition_hash && <Id key="definition" id={call.definition_hash} />],
          ["Arguments digest", call.args_digest && <Id key="digest" id={call.args_digest} />],
        ]}
      />
      {call.approval_id && call.state === "awaiting_approval" && <ApprovalCard id={call.approval_id} />}
      <CallBody call={shownCall(call)} />
      {call.children.length > 0 && (
        <section>
          <h3 className="mb-1 text-12 font-medium text-muted">Calls that it made</h3>
          <div className="rounded-control border border-line">
            <CallList calls={call.children} />
          </div>
        </section>
      )}
      <Proof rows={call.audit} />
    </div>
  );
}

/** Who let it run or didn't: a person on its card, or a standing grant. */
function Decision({ id }: { id: string }) {
  const approval = useQuery(approvalQuery(id));
  if (approval.data) {
    return (
      <Link to="/approvals/$approvalId" params={{ approvalId: id }} className="underline underline-offset-2">
        {decisionLine(approval.data)}
      </Link>
    );
  }
  if (!approval.error) return null;
  return (
    <Link to="/approvals" search={{ tab: "grants" }} className="underline underline-offset-2">
      a standing grant
    </Link>
  );
}

function From({ call }: { call: CallDetail }) {
  if (call.origin === "chat" && call.session_id) {
    return (
      <Link to="/chat/$sessionId" params={{ sessionId: call.session_id }} className="underline underline-offset-2">
        a chat
      </Link>
    );
  }
  return <>{call.origin}</>;
}

function Proof({ rows }: { rows: AuditRow[] }) {
  const chain = useQuery(chainQuery).data;
  const last = rows.at(-1);
  const proven = chain?.ok && last && chain.through_seq >= last.seq;
  return (
    <section>
      <h3 className="mb-2 flex items-center gap-2 text-12 font-medium text-muted">
        <Link2 aria-hidden size={14} className={proven ? "text-safe" : undefined} />
        Rows in the chained log
        {proven && <span className="font-normal">· verified up to {chain.through_seq.toLocaleString("en-GB")}</span>}
      </h3>
      <ol className="flex flex-col rounded-control border border-line text-12">
        {rows.map((row) => (
          <li key={row.seq} className="border-b border-line/60 px-3 py-1.5 last:border-b-0">
            <div className="flex flex-wrap items-center gap-x-3">
              <span className="tabular text-muted">#{row.seq}</span>
              <span className="font-medium">{row.kind}</span>
              <span className="text-muted">
                <Time at={row.at} clock />
              </span>
              <span className="ml-auto">
                <Id id={row.row_hash} />
              </span>
            </div>
            <JsonTree value={row.payload} depth={0} />
          </li>
        ))}
      </ol>
    </section>
  );
}
