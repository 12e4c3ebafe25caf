import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { History as HistoryIcon } from "lucide-react";
import { useEffect, useMemo } from "react";
import type { Approval } from "../../api/approvals";
import { decidedApprovalsQuery } from "../../api/queries";
import { DecisionIcon } from "../../components/approval/DecidedCard";
import { Button } from "../../components/Button";
import { inputLook, Select } from "../../components/Field";
import { gistOf } from "../../components/result/shape";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { Time } from "../../components/Time";
import { ClassIcon } from "../../components/Words";
import { askerOf, decisionLine, fits, OUTCOMES, type Outcome } from "../../lib/approval";
import { cx } from "../../lib/cx";
import type { ApprovalsSearch } from "../search";

/** A filter that fits little reads on by itself until it has this many rows, but not for ever. */
const ENOUGH = 20;
const MAX_PAGES_BY_ITSELF = 10;

export function History() {
  const search = useSearch({ from: "/approvals" });
  const navigate = useNavigate({ from: "/approvals" });
  const query = useInfiniteQuery(decidedApprovalsQuery);
  const all = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const found = useMemo(() => all.filter((each) => fits(each, search)), [all, search]);
  const tools = useMemo(() => [...new Set(all.map((each) => each.tool))].sort(), [all]);
  const pages = query.data?.pages.length ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    if (found.length < ENOUGH && hasNextPage && !isFetchingNextPage && pages < MAX_PAGES_BY_ITSELF)
      void fetchNextPage();
  }, [found.length, hasNextPage, isFetchingNextPage, fetchNextPage, pages]);
  const change = (part: Partial<ApprovalsSearch>) =>
    void navigate({ search: (old) => ({ ...old, ...part }), replace: true });

  return (
    <>
      <div className="flex flex-wrap items-center gap-2 px-4 py-3 md:px-6">
        <input
          type="search"
          data-filter
          aria-label="Filter decisions"
          placeholder="Tool, host, person, note"
          className={cx(inputLook, "w-64 max-w-full")}
          value={search.q ?? ""}
          onChange={(event) => change({ q: event.target.value || undefined })}
        />
        <Select
          aria-label="Outcome"
          fit
          value={search.outcome ?? ""}
          onChange={(event) => change({ outcome: (event.target.value || undefined) as Outcome | undefined })}
        >
          <option value="">Every outcome</option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome} value={outcome}>
              {outcome}
            </option>
          ))}
        </Select>
        <Select
          aria-label="Tool"
          fit
          value={search.tool ?? ""}
          onChange={(event) => change({ tool: event.target.value || undefined })}
        >
          <option value="">Every tool</option>
          {search.tool && !tools.includes(search.tool) && <option value={search.tool}>{search.tool}</option>}
          {tools.map((tool) => (
            <option key={tool} value={tool}>
              {tool}
            </option>
          ))}
        </Select>
        {query.data && (
          <span className="text-12 text-muted" role="status">
            {found.length} of {hasNextPage ? `the newest ${all.length}` : all.length}
          </span>
        )}
      </div>
      {query.error && (
        <Failed what="The history could not be read." error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <SkeletonRows rows={8} />}
      {query.data && all.length === 0 && (
        <Empty icon={HistoryIcon} title="Nothing was decided yet">
          Each decision stays here: what was asked, who allowed or denied it and when, and with which note.
        </Empty>
      )}
      {all.length > 0 && found.length === 0 && !isFetchingNextPage && (
        <p className="px-6 py-12 text-center text-13 text-muted">No decision fits the filter.</p>
      )}
      <ul aria-label="Decisions, newest first" className="border-t border-line/60 text-13 empty:hidden">
        {found.map((each) => (
          <HistoryRow key={each.id} approval={each} />
        ))}
      </ul>
      {hasNextPage && (
        <div className="flex justify-center p-4">
          <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Read older ones
          </Button>
        </div>
      )}
    </>
  );
}

function HistoryRow({ approval }: { approval: Approval }) {
  return (
    <li
      data-decision={approval.id}
      data-approval-state={approval.state}
      className="relative flex min-h-10 min-w-0 items-center gap-x-3 gap-y-0.5 border-b border-line/60 px-4 py-1.5 hover:bg-surface max-md:flex-wrap md:px-6"
    >
      <span className="shrink-0 truncate text-12 text-muted md:w-36">
        <Time at={approval.decided_at ?? approval.created_at} />
      </span>
      <span className="flex w-56 min-w-0 items-center gap-1.5 max-md:order-first max-md:w-full">
        <DecisionIcon state={approval.state} />
        <span className="truncate">{decisionLine(approval)}</span>
      </span>
      <ClassIcon value={approval.class} />
      <Link
        to="/approvals/$approvalId"
        params={{ approvalId: approval.id }}
        data-row
        className="shrink-0 font-mono text-12 font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
      >
        {approval.tool}
      </Link>
      {approval.edge_name && <span className="min-w-0 truncate text-12 text-muted">on {approval.edge_name}</span>}
      <span className="min-w-0 flex-1 truncate font-mono text-12 text-muted max-md:order-last max-md:flex-none max-md:basis-full">
        {gistOf(approval.args)}
      </span>
      <span className="w-44 shrink-0 truncate text-right text-12 text-muted max-lg:hidden">
        asked by {askerOf(approval)}
      </span>
    </li>
  );
}
