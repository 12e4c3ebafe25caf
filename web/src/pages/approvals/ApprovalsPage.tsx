/** What waits for a decision, what was decided, and what runs without asking. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { approvalCountQuery } from "../../api/queries";
import { Page } from "../../components/Page";
import { Tabs } from "../../components/Tabs";
import { APPROVAL_TABS, type ApprovalTab } from "../search";
import { Grants } from "./Grants";
import { History } from "./History";
import { Inbox } from "./Inbox";

export function ApprovalsPage() {
  const tab = useSearch({ from: "/approvals" }).tab ?? "inbox";
  const navigate = useNavigate({ from: "/approvals" });
  const count = useQuery(approvalCountQuery).data ?? 0;
  const words: Record<ApprovalTab, string> = {
    inbox: count > 0 ? `Inbox (${count})` : "Inbox",
    history: "History",
    grants: "Standing grants",
  };
  return (
    <Page
      title="Approvals"
      below={
        <Tabs
          label="Approvals"
          tabs={APPROVAL_TABS.map((each) => ({ id: each, name: words[each] }))}
          current={tab}
          onChange={(next) => void navigate({ search: { tab: next === "inbox" ? undefined : next } })}
        />
      }
    >
      {tab === "inbox" && <Inbox />}
      {tab === "history" && <History />}
      {tab === "grants" && <Grants />}
    </Page>
  );
}
