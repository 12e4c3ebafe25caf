import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Download, Link2, Link2Off, ScrollText } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { api } from "../../api/client";
import { callsQuery, chainQuery } from "../../api/queries";
import type { Call } from "../../api/types";
import { Button } from "../../components/Button";
import { whoOf } from "../../components/CallList";
import { Page } from "../../components/Page";
import { MenuItem, Popover } from "../../components/Popover";
import { gistOf } from "../../components/result/shape";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { Time } from "../../components/Time";
import { ClassIcon, StateWord } from "../../components/Words";
import { useMe } from "../../frame/session";
import { useNow } from "../../lib/clock";
import { cx } from "../../lib/cx";
import { dayKey, formatDay, formatDuration } from "../../lib/format";
import { CallSheet } from "./CallSheet";
import { DensityStrip } from "./DensityStrip";
import { Filters } from "./Filters";
import { type AuditSearch, filterOf, spanOf } from "./search";

const ROW_PX = 36;
const DAY_PX = 32;

type Line = { kind: "day"; key: string; name: string } | { kind: "call"; call: Call };

export function AuditPage() {
  const search = useSearch({ from: "/admin/audit" });
  const navigate = useNavigate({ from: "/admin/audit" });
  const change = useCallback(
    (part: Partial<AuditSearch>) => void navigate({ search: (old) => ({ ...old, ...part }), replace: true }),
    [navigate],
  );
  const now = useNow();
  // Keys of queries: the same within a minute.
  const minute = Math.ceil(now / 60_000) * 60_000;
  const filter = useMemo(() => filterOf(search, minute), [search, minute]);
  const span = spanOf(search, minute);
  const calls = useInfiniteQuery(callsQuery(filter));
  const rows = useMemo(() => calls.data?.pages.flatMap((page) => page.items) ?? [], [calls.data]);

  return (
    <Page
      title="Audit"
      actions={
        <>
          <Chain />
          <Popover
            label="Export"
            button={(button) => (
              <Button icon={Download} {...button}>
                Export
              </Button>
            )}
          >
            <MenuItem onSelect={() => location.assign(api.exportUrl(filter, "csv"))}>
              What the filter shows, as CSV
            </MenuItem>
            <MenuItem onSelect={() => location.assign(api.exportUrl(filter, "jsonl"))}>
              What the filter shows, as JSON lines
            </MenuItem>
          </Popover>
        </>
      }
      below={
        <>
          <Filters search={search} onChange={change} />
          <DensityStrip
            filter={filter}
            from={span.from}
            to={span.to}
            onSelect={(from, to) => change({ from, to, range: undefined })}
          />
        </>
      }
    >
      {calls.error && (
        <Failed what="The audit could not be read." error={calls.error} onRetry={() => void calls.refetch()} />
      )}
      {calls.isPending && <SkeletonRows rows={10} />}
      {calls.data && rows.length === 0 && (
        <Empty icon={ScrollText} title={calls.isPlaceholderData ? "Looking…" : "No calls here"}>
          Every call stands here, from whichever door it came: who ran what, on which host, who allowed it and how it
          ended. Widen the time or remove a filter to see more.
        </Empty>
      )}
      {rows.length > 0 && (
        <Timeline
          calls={rows}
          more={calls.hasNextPage}
          loading={calls.isFetchingNextPage}
          onMore={() => void calls.fetchNextPage()}
          onOpen={(call) => void navigate({ search: (old) => ({ ...old, call }) })}
        />
      )}
      <CallSheet id={search.call ?? null} onClose={() => change({ call: undefined })} />
    </Page>
  );
}

function Chain() {
  const me = useMe();
  const mayVerify = me.user.roles.some((role) => role !== "viewer");
  const chain = useQuery({ ...chainQuery, enabled: mayVerify });
  if (!chain.data) return null;
  const Icon = chain.data.ok ? Link2 : Link2Off;
  return (
    <span
      data-chain={chain.data.ok ? "ok" : "broken"}
      className={cx("inline-flex items-center gap-1.5 text-12", chain.data.ok ? "text-muted" : "text-danger-text")}
      title={chain.data.problem ?? "Every row's hash was computed again and fits the one before it."}
    >
      <Icon aria-hidden size={14} className={chain.data.ok ? "text-safe" : undefined} />
      {chain.data.ok
        ? `Chain verified up to ${chain.data.through_seq.toLocaleString("en-GB")}`
        : (chain.data.problem ?? "The chain is broken")}
    </span>
  );
}

function linesOf(calls: Call[], today: string): Line[] {
  const lines: Line[] = [];
  let day = "";
  for (const call of calls) {
    const key = dayKey(call.started_at);
    if (key !== day) {
      day = key;
      lines.push({ kind: "day", key, name: key === today ? "Today" : formatDay(new Date(call.started_at)) });
    }
    lines.push({ kind: "call", call });
  }
  return lines;
}

interface TimelineProps {
  calls: Call[];
  more: boolean;
  loading: boolean;
  onMore: () => void;
  onOpen: (call: string) => void;
}

function Timeline({ calls, more, loading, onMore, onOpen }: TimelineProps) {
  const now = useNow();
  const lines = useMemo(() => linesOf(calls, dayKey(new Date(now).toISOString())), [calls, now]);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (lines[index]?.kind === "day" ? DAY_PX : ROW_PX),
    overscan: 20,
  });
  const items = rows.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && !loading && lastShown >= lines.length - 10) onMore();
  }, [more, loading, lastShown, lines.length, onMore]);
  return (
    <div ref={scroller} className="h-full overflow-y-auto">
      <ul aria-label="Calls, newest first" className="relative" style={{ height: rows.getTotalSize() }}>
        {items.map((item) => {
          const line = lines[item.index];
          if (!line) return null;
          return (
            <li
              key={line.kind === "day" ? line.key : line.call.id}
              className="absolute inset-x-0"
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              {line.kind === "day" ? (
                <h2 className="flex h-8 items-end border-b border-line px-4 pb-1 text-12 font-medium text-muted md:px-6">
                  {line.name}
                </h2>
              ) : (
                <TimelineRow call={line.call} onOpen={onOpen} />
              )}
            </li>
          );
        })}
      </ul>
      {loading && <p className="py-3 text-center text-12 text-muted">Reading more…</p>}
    </div>
  );
}

function TimelineRow({ call, onOpen }: { call: Call; onOpen: (call: string) => void }) {
  return (
    <button
      type="button"
      data-row
      data-audit-call={call.id}
      data-state={call.state}
      onClick={() => onOpen(call.id)}
      className="flex h-9 w-full min-w-0 items-center gap-2 border-b border-line/60 px-4 text-left text-13 hover:bg-surface focus-visible:-outline-offset-2 md:px-6"
    >
      <span className="w-16 shrink-0 text-12 text-muted">
        <Time at={call.started_at} clock />
      </span>
      <ClassIcon value={call.class} />
      <span className="shrink-0 font-mono text-12 font-medium md:w-36 md:truncate">{call.tool}</span>
      <span className="min-w-0 truncate text-12 text-muted md:hidden">{call.edge_name}</span>
      <span className="w-24 shrink-0 truncate text-12 text-muted max-md:hidden">
        {call.edge_name ?? (call.scope === "manager" ? "manager" : "")}
      </span>
      <span className="min-w-0 flex-1 truncate font-mono text-12 text-muted max-md:hidden">{gistOf(call.args)}</span>
      <span className="w-40 shrink-0 truncate text-12 text-muted max-lg:hidden">{whoOf(call)}</span>
      <span className="w-12 shrink-0 text-12 text-muted max-md:hidden">{call.origin}</span>
      <span className="flex w-24 shrink-0 max-md:ml-auto">
        <StateWord value={call.state} />
      </span>
      <span className="num w-14 shrink-0 text-12 text-muted max-md:hidden">
        {typeof call.duration_ms === "number" ? formatDuration(call.duration_ms) : ""}
      </span>
    </button>
  );
}
