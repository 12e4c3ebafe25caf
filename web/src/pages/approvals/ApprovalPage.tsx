/** One approval by its address: what notifications and the history link to. */
import { Link, useParams } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { ApprovalCard } from "../../components/approval/ApprovalCard";
import { Page } from "../../components/Page";

export function ApprovalPage() {
  const { approvalId } = useParams({ from: "/approvals/$approvalId" });
  return (
    <Page
      title={
        <span className="flex items-center gap-3">
          <Link
            to="/approvals"
            aria-label="All approvals"
            className="rounded-control p-1 text-muted hover:bg-raised hover:text-text"
          >
            <ArrowLeft aria-hidden size={16} />
          </Link>
          Approval
        </span>
      }
    >
      <div className="mx-auto max-w-[760px] px-4 pb-6 md:px-6">
        <ApprovalCard key={approvalId} id={approvalId} whole />
      </div>
    </Page>
  );
}
