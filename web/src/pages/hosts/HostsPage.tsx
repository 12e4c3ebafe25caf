import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Plus, Server } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { hostsQuery } from "../../api/queries";
import type { Host, HostState } from "../../api/types";
import { Button } from "../../components/Button";
import { inputLook, Select } from "../../components/Field";
import { Page } from "../../components/Page";
import { Spark } from "../../components/Spark";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { Time } from "../../components/Time";
import { HostHolds, HostStateWord, Labels } from "../../components/Words";
import { useFrame } from "../../frame/actions";
import { cx } from "../../lib/cx";
import { loadsOf, noteLoads } from "../../lib/load-history";

const STATES: HostState[] = ["online", "offline", "quarantined", "revoked", "never_seen"];
const ROW_PX = 40;
const VIRTUAL_FROM = 100;

export function HostsPage() {
  const hosts = useQuery(hostsQuery);
  const search = useSearch({ from: "/hosts" });
  const navigate = useNavigate({ from: "/hosts" });
  const { addHost } = useFrame();
  useEffect(() => {
    if (hosts.data) noteLoads(hosts.data, hosts.dataUpdatedAt);
  }, [hosts.data, hosts.dataUpdatedAt]);

  const found = useMemo(() => {
    const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    return (hosts.data ?? []).filter(
      (host) => (!search.state || host.state === search.state) && words.every((word) => textOf(host).includes(word)),
    );
  }, [hosts.data, search]);

  const counts = new Map<string, number>();
  for (const host of hosts.data ?? []) counts.set(host.state, (counts.get(host.state) ?? 0) + 1);

  return (
    <Page
      title="Hosts"
      actions={
        <Button look="primary" icon={Plus} onClick={addHost}>
          Add a host
        </Button>
      }
      below={
        hosts.data && hosts.data.length > 0 ? (
          <div className="flex flex-wrap items-center gap-2 px-4 pb-3 md:px-6">
            <input
              type="search"
              data-filter
              aria-label="Filter hosts"
              placeholder="Name, label, system"
              className={cx(inputLook, "w-64 max-w-full")}
              value={search.q ?? ""}
              onChange={(event) =>
                void navigate({ search: (old) => ({ ...old, q: event.target.value || undefined }), replace: true })
              }
            />
            <Select
              aria-label="State"
              fit
              value={search.state ?? ""}
              onChange={(event) =>
                void navigate({ search: (old) => ({ ...old, state: event.target.value || undefined }), replace: true })
              }
            >
              <option value="">Every state</option>
              {STATES.map((state) => (
                <option key={state} value={state}>
                  {state.replaceAll("_", " ")} ({counts.get(state) ?? 0})
                </option>
              ))}
            </Select>
            <span className="text-12 text-muted" role="status">
              {found.length} of {hosts.data.length} hosts, {counts.get("online") ?? 0} online
            </span>
          </div>
        ) : undefined
      }
    >
      {hosts.error && (
        <Failed what="The hosts could not be read." error={hosts.error} onRetry={() => void hosts.refetch()} />
      )}
      {hosts.isPending && <SkeletonRows />}
      {hosts.data?.length === 0 && (
        <Empty
          icon={Server}
          title="No hosts yet"
          action={
            <Button look="primary" icon={Plus} onClick={addHost}>
              Add a host
            </Button>
          }
        >
          A host runs a small agent that dials out to this manager. You paste one command; nothing has to be opened in
          its firewall.
        </Empty>
      )}
      {hosts.data &&
        hosts.data.length > 0 &&
        (found.length > 0 ? (
          <HostTable hosts={found} />
        ) : (
          <p className="px-6 py-12 text-center text-13 text-muted">No host fits the filter.</p>
        ))}
    </Page>
  );
}

function textOf(host: Host): string {
  return [
    host.name,
    host.hostname,
    host.os,
    host.version,
    ...Object.entries(host.labels).map(([key, value]) => `${key}=${value}`),
  ]
    .join(" ")
    .toLowerCase();
}

const COLUMNS =
  "grid grid-cols-[minmax(120px,1.2fr)_108px] items-center gap-x-4 md:grid-cols-[minmax(120px,1.2fr)_116px_minmax(120px,1.3fr)_72px_132px_minmax(80px,1fr)_112px]";

function HostTable({ hosts }: { hosts: Host[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = hosts.length > VIRTUAL_FROM;
  const rows = useVirtualizer({
    count: virtual ? hosts.length : 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  return (
    <div
      ref={scroller}
      className="h-full overflow-y-auto"
      role="table"
      aria-label="Hosts"
      aria-rowcount={hosts.length + 1}
    >
      <div
        role="row"
        className={cx(COLUMNS, "sticky top-0 z-10 h-8 border-b border-line bg-bg px-4 text-12 text-muted md:px-6")}
      >
        <span role="columnheader">Name</span>
        <span role="columnheader">State</span>
        <span role="columnheader" className="max-md:hidden">
          System
        </span>
        <span role="columnheader" className="max-md:hidden">
          Agent
        </span>
        <span role="columnheader" className="max-md:hidden">
          CPU
        </span>
        <span role="columnheader" className="max-md:hidden">
          Labels
        </span>
        <span role="columnheader" className="num max-md:hidden">
          Last seen
        </span>
      </div>
      {virtual ? (
        <div role="rowgroup" className="relative" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((item) => {
            const host = hosts[item.index];
            return (
              host && (
                <div
                  key={host.id}
                  role="presentation"
                  className="absolute inset-x-0"
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <HostRow host={host} index={item.index} />
                </div>
              )
            );
          })}
        </div>
      ) : (
        <div role="rowgroup">
          {hosts.map((host, index) => (
            <HostRow key={host.id} host={host} index={index} />
          ))}
        </div>
      )}
    </div>
  );
}

function HostRow({ host, index }: { host: Host; index: number }) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      data-host={host.id}
      data-host-state={host.state}
      className={cx(COLUMNS, "relative min-h-10 border-b border-line/60 px-4 text-13 hover:bg-surface md:px-6")}
    >
      <span role="cell" className="flex min-w-0 items-center gap-x-2">
        {/* The link covers the row, so that all of it opens the host. */}
        <Link
          to="/hosts/$hostId"
          params={{ hostId: String(host.id) }}
          data-row
          className="truncate font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          {host.name}
        </Link>
        <HostHolds host={host} />
      </span>
      <span role="cell" className="min-w-0 truncate">
        <HostStateWord value={host.state} reason={host.state_reason} />
      </span>
      <span
        role="cell"
        className="truncate text-muted max-md:hidden"
        title={[host.os, host.kernel].filter(Boolean).join(", ")}
      >
        {host.os ?? "–"}
      </span>
      <span role="cell" className="truncate text-muted tabular max-md:hidden">
        {host.version ?? "–"}
      </span>
      <span role="cell" className="flex items-center gap-2 max-md:hidden">
        {host.load && typeof host.load.cpu_percent === "number" ? (
          <>
            <Spark values={loadsOf(host.id)} />
            <span
              className="num w-12 shrink-0 whitespace-nowrap"
              title={`Load ${host.load.load1 ?? "–"}, memory ${host.load.memory_percent ?? "–"} %, disk ${host.load.disk_percent ?? "–"} %`}
            >
              {host.load.cpu_percent.toFixed(0)} %
            </span>
          </>
        ) : (
          <span className="text-muted">–</span>
        )}
      </span>
      <span role="cell" className="min-w-0 overflow-hidden max-md:hidden">
        <Labels labels={host.labels} />
      </span>
      <span role="cell" className="num text-muted max-md:hidden">
        {host.state === "online" ? "now" : host.last_seen_at ? <Time at={host.last_seen_at} /> : "never"}
      </span>
    </div>
  );
}
