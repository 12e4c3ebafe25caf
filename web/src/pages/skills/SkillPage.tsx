/** One capability: its definition, a form that runs it, the same call elsewhere. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ArrowLeft, Blocks } from "lucide-react";
import { useState } from "react";
import { capabilitiesQuery } from "../../api/queries";
import type { Capability, Json } from "../../api/types";
import { Id } from "../../components/Copy";
import { Inline } from "../../components/Inline";
import { Card, Facts, Page } from "../../components/Page";
import { JsonTree } from "../../components/result/JsonTree";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { ScopeChip, SkillClass } from "../../components/Words";
import { cx } from "../../lib/cx";
import { limitsOf, typeWord } from "../../lib/schema";
import { RunForm } from "./RunForm";

export function SkillPage() {
  const { scope, key } = useParams({ from: "/skills/$scope/$key" });
  const capabilities = useQuery(capabilitiesQuery);
  if (capabilities.error)
    return (
      <Failed
        what="The skill could not be read."
        error={capabilities.error}
        onRetry={() => void capabilities.refetch()}
      />
    );
  if (!capabilities.data) return <SkeletonRows />;
  const capability = capabilities.data.find((each) => each.key === key && each.scope === scope);
  if (!capability) {
    return (
      <Empty
        alone
        icon={Blocks}
        title={`There is no skill ${key}`}
        action={
          <Link to="/skills" className="text-13 text-accent-text underline underline-offset-2">
            All skills
          </Link>
        }
      >
        It may belong to a host that is no longer connected.
      </Empty>
    );
  }
  const twin = capabilities.data.find((each) => each.key === key && each.scope !== scope);
  return (
    <Page
      title={
        <span className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <Link
            to="/skills"
            aria-label="All skills"
            className="rounded-control p-1 text-muted hover:bg-raised hover:text-text"
          >
            <ArrowLeft aria-hidden size={16} />
          </Link>
          <span className="font-mono text-16">{capability.key}</span>
          <ScopeChip value={capability.scope} />
          <SkillClass skill={capability} />
        </span>
      }
      actions={
        twin && (
          <Link
            to="/skills/$scope/$key"
            params={{ scope: twin.scope, key }}
            className="text-12 text-accent-text underline underline-offset-2"
          >
            {twin.scope === "manager" ? "On several hosts at once" : "On one host"}
          </Link>
        )
      }
    >
      <div className="grid gap-4 px-4 pb-6 md:px-6 xl:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-4">
          <p className="text-13 text-muted">
            <Inline text={capability.description} />
          </p>
          <RunForm key={`${scope}-${key}`} capability={capability} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Definition capability={capability} />
          {capability.scope === "host" && <Hosts capability={capability} />}
        </div>
      </div>
    </Page>
  );
}

function Definition({ capability }: { capability: Capability }) {
  const [asJson, setAsJson] = useState(false);
  const required = new Set(capability.params.required ?? []);
  const params = Object.entries(capability.params.properties ?? {});
  return (
    <Card
      title="Definition"
      actions={
        <button
          type="button"
          aria-pressed={asJson}
          onClick={() => setAsJson(!asJson)}
          className={cx(
            "rounded-control border border-line px-2 text-12 leading-5",
            asJson ? "bg-raised text-text" : "text-muted hover:text-text",
          )}
        >
          JSON Schema
        </button>
      }
    >
      <div className="flex flex-col gap-4 p-4">
        {asJson ? (
          <JsonTree value={capability.params as Json} depth={4} />
        ) : params.length === 0 ? (
          <p className="text-13 text-muted">
            It takes no parameters{capability.scope === "host" ? " besides the host" : ""}.
          </p>
        ) : (
          <dl className="flex flex-col gap-3 text-13">
            {params.map(([name, schema]) => (
              <div key={name}>
                <dt className="flex flex-wrap items-baseline gap-x-2">
                  <span className="font-mono text-12 font-medium">{name}</span>
                  <span className="text-12 text-muted">
                    {typeWord(schema)}
                    {required.has(name) ? ", required" : ""}
                  </span>
                  <span className="text-12 text-muted tabular">{limitsOf(schema)}</span>
                </dt>
                <dd className="text-muted">{schema.description && <Inline text={schema.description} />}</dd>
              </div>
            ))}
          </dl>
        )}
        <Facts
          rows={[
            ["Result", capability.result_preview],
            ["Needs", capability.prerequisites.join(", ")],
            ["Source", capability.source],
            ["Hash", <Id key="hash" id={capability.hash} />],
          ]}
        />
      </div>
    </Card>
  );
}

function Hosts({ capability }: { capability: Capability }) {
  return (
    <Card title="Where it runs">
      {capability.hosts.length === 0 ? (
        <p className="p-4 text-13 text-muted">No host is enrolled yet.</p>
      ) : (
        <ul className="text-13">
          {capability.hosts.map((host) => (
            <li
              key={host.edge_id}
              className="flex min-h-9 flex-wrap items-center gap-x-4 border-b border-line/60 px-4 py-1 last:border-b-0"
            >
              <Link
                to="/hosts/$hostId"
                params={{ hostId: String(host.edge_id) }}
                className="w-32 truncate underline-offset-2 hover:underline"
              >
                {host.name}
              </Link>
              <span className="inline-flex w-20 items-center gap-2 text-muted">
                <span
                  aria-hidden
                  className={cx("size-2 rounded-full", host.online ? "bg-safe" : "border border-muted")}
                />
                {host.online ? "online" : "offline"}
              </span>
              <span className={host.unmet.length > 0 ? "text-mutating" : "text-muted"}>
                {host.unmet.length > 0 ? `needs ${host.unmet.join(", ")}` : "has all it needs"}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
