/** A card after its decision: who, when, what, with which note. What was asked opens below. */
import { Link } from "@tanstack/react-router";
import { ChevronRight, CircleCheck, CircleSlash, CircleX, Clock, Hourglass, type LucideIcon } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Approval, ApprovalState } from "../../api/approvals";
import { decisionLine, lateWord } from "../../lib/approval";
import { useServerSeconds } from "../../lib/clock";
import { cx } from "../../lib/cx";
import { gistOf } from "../result/shape";
import { Time } from "../Time";
import { ClassIcon, StateWord } from "../Words";

const LOOKS: Record<ApprovalState, { icon: LucideIcon; colour: string }> = {
  pending: { icon: Hourglass, colour: "text-mutating" },
  approved: { icon: CircleCheck, colour: "text-safe" },
  denied: { icon: CircleX, colour: "text-danger-text" },
  expired: { icon: Clock, colour: "text-mutating" },
  withdrawn: { icon: CircleSlash, colour: "text-muted" },
};

export function DecisionIcon({ state }: { state: ApprovalState }) {
  const { icon: Icon, colour } = LOOKS[state] ?? LOOKS.withdrawn;
  return <Icon aria-hidden size={14} className={cx("shrink-0", colour)} />;
}

interface DecidedCardProps {
  approval: Approval;
  heading: string;
  late: boolean;
  /** It is what the page is about: open, and with its call's state. */
  whole?: boolean;
  children: ReactNode;
}

export function DecidedCard({ approval, heading, late, whole, children }: DecidedCardProps) {
  const [open, setOpen] = useState(whole ?? false);
  return (
    <div className="flex flex-col gap-1.5 px-4 py-3 text-13">
      <h2 id={heading} className="flex flex-wrap items-center gap-x-2 gap-y-0.5 font-medium" data-decided>
        <DecisionIcon state={approval.state} />
        {decisionLine(approval)}
        {approval.decided_at && (
          <span className="text-12 font-normal text-muted">
            <Time at={approval.decided_at} />
          </span>
        )}
      </h2>
      {late && <p className="text-mutating">{lateWord(approval.state)}</p>}
      {approval.note && (
        <p className="border-l-2 border-line pl-3 break-words whitespace-pre-wrap" data-note>
          {approval.note}
        </p>
      )}
      {approval.state === "approved" && <Start approval={approval} />}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="flex min-w-0 max-w-full items-center gap-2 rounded-control text-left text-12 hover:bg-raised max-md:min-h-8"
        >
          <ChevronRight
            aria-hidden
            size={12}
            className={cx("shrink-0 text-muted transition-transform", open && "rotate-90")}
          />
          <ClassIcon value={approval.class} />
          <span className="shrink-0 font-mono font-medium">{approval.tool}</span>
          {approval.edge_name && <span className="shrink-0 text-muted">on {approval.edge_name}</span>}
          <span className="min-w-0 truncate font-mono text-muted">{gistOf(approval.args)}</span>
        </button>
        {whole && (
          <span className="flex flex-wrap items-center gap-x-3 text-12 text-muted">
            <StateWord value={approval.call_state} />
            <Link
              to="/admin/audit"
              search={{ call: approval.call_id }}
              className="text-accent-text underline underline-offset-2"
            >
              The call in the audit
            </Link>
          </span>
        )}
      </div>
      {open && <div className="mt-1 flex flex-col gap-3">{children}</div>}
    </div>
  );
}

/** An allowed call that hasn't started: how long it may. */
function Start({ approval }: { approval: Approval }) {
  const now = useServerSeconds();
  if (approval.call_state !== "awaiting_approval" || !approval.valid_until) return null;
  const left = Date.parse(approval.valid_until) - now;
  return (
    <p className="text-12 text-muted">
      {left > 0 ? (
        <>
          It starts as soon as it can, at the latest <Time at={approval.valid_until} clock />.
        </>
      ) : (
        "It didn't start in time and won't."
      )}
    </p>
  );
}
