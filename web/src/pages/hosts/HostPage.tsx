import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Gauge, Info, ScrollText } from "lucide-react";
import { useEffect } from "react";
import { api, messageOf } from "../../api/client";
import { capabilitiesQuery, hostQuery, recentCallsQuery } from "../../api/queries";
import type { HostDetail } from "../../api/types";
import { Button } from "../../components/Button";
import { CallList } from "../../components/CallList";
import { CallRow } from "../../components/CallRow";
import { Id } from "../../components/Copy";
import { Card, Facts, Page } from "../../components/Page";
import { Meter, Spark } from "../../components/Spark";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { shownCall } from "../../components/shown-call";
import { Tabs } from "../../components/Tabs";
import { Time } from "../../components/Time";
import { Chip, HostHolds, HostStateWord, Labels, SkillClass } from "../../components/Words";
import { sentence } from "../../lib/format";
import { loadsOf, noteLoads } from "../../lib/load-history";
import { HOST_TABS, type HostTab } from "../search";
import { HostSettings } from "./HostSettings";
import { HostSigning } from "./HostSigning";
import { Quarantine } from "./Quarantine";

const WORDS: Record<HostTab, string> = { overview: "Overview", skills: "Skills", calls: "Calls", settings: "Settings" };

export function HostPage() {
  const id = Number(useParams({ from: "/hosts/$hostId" }).hostId);
  const tab = useSearch({ from: "/hosts/$hostId" }).tab ?? "overview";
  const navigate = useNavigate({ from: "/hosts/$hostId" });
  const query = useQuery(hostQuery(id));
  const host = query.data;
  useEffect(() => {
    if (host) noteLoads([host], query.dataUpdatedAt);
  }, [host, query.dataUpdatedAt]);

  if (query.error)
    return <Failed what="This host could not be read." error={query.error} onRetry={() => void query.refetch()} />;
  if (!host) return <SkeletonRows />;
  return (
    <Page
      title={
        <span className="flex min-w-0 flex-wrap items-center gap-x-4">
          <span className="truncate">{host.name}</span>
          <span className="flex items-center gap-x-3 text-13 font-normal tracking-normal">
            <HostStateWord value={host.state} reason={host.state_reason} />
            <HostHolds host={host} />
          </span>
        </span>
      }
      actions={<Labels labels={host.labels} />}
      below={
        <Tabs
          label={`Parts of ${host.name}`}
          tabs={HOST_TABS.map((each) => ({ id: each, name: WORDS[each] }))}
          current={tab}
          onChange={(next) => void navigate({ search: { tab: next === "overview" ? undefined : next } })}
        />
      }
    >
      <div className="flex flex-col gap-4 p-4 md:p-6">
        {host.state === "quarantined" && <Quarantine host={host} />}
        {host.state !== "quarantined" && host.state_reason && <Note texts={[host.state_reason]} />}
        {tab === "overview" && <Overview host={host} />}
        {tab === "skills" && <HostSkills host={host} />}
        {tab === "calls" && <HostCalls id={host.id} limit={100} />}
        {tab === "settings" && <HostSettings key={host.id} host={host} />}
      </div>
    </Page>
  );
}

function Note({ texts }: { texts: string[] }) {
  return (
    <ul className="flex flex-col gap-1 rounded-card border border-line bg-surface px-4 py-3 text-13">
      {texts.map((text) => (
        <li key={text} className="flex items-start gap-2">
          <Info aria-hidden size={14} className="mt-[3px] shrink-0 text-mutating" />
          {sentence(text)}
        </li>
      ))}
    </ul>
  );
}

function Overview({ host }: { host: HostDetail }) {
  return (
    <>
      {host.notes.length > 0 && <Note texts={host.notes} />}
      <div className="grid items-start gap-4 xl:grid-cols-[1fr_400px]">
        <div className="flex min-w-0 flex-col gap-4">
          <Load host={host} />
          <Card
            title="Recent calls"
            actions={
              <Link
                to="/admin/audit"
                search={{ edge: host.id }}
                className="text-12 text-accent-text underline underline-offset-2"
              >
                All in the audit
              </Link>
            }
          >
            <HostCalls id={host.id} limit={8} />
          </Card>
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Card title="Identity">
            <div className="p-4">
              <Facts
                rows={[
                  ["Host name", host.hostname],
                  ["System", host.os],
                  ["Kernel", [host.kernel, host.arch].filter(Boolean).join(", ")],
                  ["Agent", host.version],
                  ["systemd", host.systemd === null || host.systemd === undefined ? null : host.systemd ? "yes" : "no"],
                  ["Journal", host.journal === null || host.journal === undefined ? null : host.journal ? "yes" : "no"],
                  ["Address", host.address],
                  ["Connected", host.connected_at && <Time at={host.connected_at} />],
                  ["Last seen", host.last_seen_at && <Time at={host.last_seen_at} />],
                  ["Enrolled", <Time key="enrolled" at={host.created_at} />],
                  [
                    "Certificate",
                    host.certificate && (
                      <span key="certificate">
                        <Id id={host.certificate.serial} /> until <Time at={host.certificate.not_after} />
                      </span>
                    ),
                  ],
                  ["Instance", host.instance && <Id key="instance" id={host.instance} />],
                  ["Boot", host.boot_id && <Id key="boot" id={host.boot_id} />],
                ]}
              />
            </div>
          </Card>
          {host.signing && <HostSigning signing={host.signing} />}
        </div>
      </div>
    </>
  );
}

function Load({ host }: { host: HostDetail }) {
  const client = useQueryClient();
  const measure = useMutation({
    mutationFn: () => api.runCall({ tool: "host_load", scope: "host", edge_id: host.id, args: {} }),
    onSettled: () => client.invalidateQueries({ queryKey: ["calls"] }),
  });
  const { load } = host;
  return (
    <Card
      title="Load"
      actions={
        <Button
          size="small"
          look="quiet"
          icon={Gauge}
          busy={measure.isPending}
          reason={host.state === "online" ? null : "The host is not online"}
          onClick={() => measure.mutate()}
        >
          Measure in detail
        </Button>
      }
    >
      <div className="flex flex-col gap-4 p-4">
        {load ? (
          <>
            <div className="grid gap-4 sm:grid-cols-3">
              <Meter label="CPU" percent={load.cpu_percent} />
              <Meter label="Memory" percent={load.memory_percent} />
              <Meter label="Fullest disk" percent={load.disk_percent} />
            </div>
            <div className="flex items-center justify-between text-13">
              <span className="text-muted">
                Load over 1 min <span className="tabular text-text">{load.load1?.toFixed(2) ?? "–"}</span>
              </span>
              <Spark values={loadsOf(host.id)} />
            </div>
          </>
        ) : (
          <p className="text-13 text-muted">
            {host.state === "online" ? "Nothing was measured yet." : "Known while the host is online."}
          </p>
        )}
        {measure.error && (
          <p role="alert" className="text-13 text-danger-text">
            {messageOf(measure.error)}
          </p>
        )}
        {measure.data && <CallRow call={shownCall(measure.data)} open />}
      </div>
    </Card>
  );
}

function HostSkills({ host }: { host: HostDetail }) {
  const capabilities = useQuery(capabilitiesQuery).data ?? [];
  const classedBy = new Map(
    capabilities.filter((each) => each.scope === "host").map((each) => [each.key, each.classed_by]),
  );
  if (host.skills.length === 0)
    return (
      <Empty icon={Info} title="Nothing is known of its skills">
        The host tells its skills when it connects.
      </Empty>
    );
  return (
    <Card>
      <ul className="text-13">
        {host.skills.map((skill) => (
          <li
            key={skill.key}
            className="relative flex min-h-10 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line/60 px-4 py-1 last:border-b-0 hover:bg-raised/50"
          >
            <Link
              to="/skills/$scope/$key"
              params={{ scope: "host", key: skill.key }}
              data-row
              className="w-44 font-mono text-12 font-medium after:absolute after:inset-0"
            >
              {skill.key}
            </Link>
            <span className="w-44">
              <SkillClass skill={{ ...skill, classed_by: classedBy.get(skill.key) }} />
            </span>
            <span className="min-w-0 flex-1">
              {skill.unmet.length === 0 ? (
                <span className="text-muted">available</span>
              ) : (
                <span className="text-mutating">not here: needs {skill.unmet.join(", ")}</span>
              )}
            </span>
            <Chip>{skill.source}</Chip>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function HostCalls({ id, limit }: { id: number; limit: number }) {
  const calls = useQuery(recentCallsQuery({ edge: id }, limit));
  if (calls.error)
    return <Failed what="The calls could not be read." error={calls.error} onRetry={() => void calls.refetch()} />;
  if (!calls.data) return <SkeletonRows rows={3} />;
  if (calls.data.length === 0)
    return (
      <Empty icon={ScrollText} title="No calls on this host yet">
        Every call that runs here, from a chat, a form or the command line, is listed.
      </Empty>
    );
  return <CallList calls={calls.data} host={false} />;
}
