import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Blocks } from "lucide-react";
import { useMemo } from "react";
import { capabilitiesQuery } from "../../api/queries";
import type { Capability } from "../../api/types";
import { CLASSES } from "../../api/words";
import { inputLook, Select } from "../../components/Field";
import { Inline } from "../../components/Inline";
import { Page } from "../../components/Page";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { ScopeChip, SkillClass } from "../../components/Words";
import { cx } from "../../lib/cx";
import { humanKey } from "../../lib/format";
import { Packs } from "./Packs";

export function SkillsPage() {
  const capabilities = useQuery(capabilitiesQuery);
  const search = useSearch({ from: "/skills" });
  const navigate = useNavigate({ from: "/skills" });
  const change = (part: Partial<typeof search>) =>
    void navigate({ search: (old) => ({ ...old, ...part }), replace: true });

  const groups = useMemo(() => {
    const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const found = (capabilities.data ?? []).filter(
      (each) =>
        (!search.scope || each.scope === search.scope) &&
        (!search.class || canBe(each, search.class)) &&
        words.every((word) =>
          `${each.key} ${each.name} ${each.description} ${each.category}`.toLowerCase().includes(word),
        ),
    );
    const byCategory = new Map<string, Capability[]>();
    for (const each of found) byCategory.set(each.category, [...(byCategory.get(each.category) ?? []), each]);
    return [...byCategory].sort(([a], [b]) => a.localeCompare(b));
  }, [capabilities.data, search]);

  return (
    <Page
      title="Skills"
      below={
        <div className="flex flex-wrap items-center gap-2 px-4 pb-3 md:px-6">
          <input
            type="search"
            data-filter
            aria-label="Filter skills"
            placeholder="Name or purpose"
            className={cx(inputLook, "w-64 max-w-full")}
            value={search.q ?? ""}
            onChange={(event) => change({ q: event.target.value || undefined })}
          />
          <Select
            aria-label="Where it runs"
            fit
            value={search.scope ?? ""}
            onChange={(event) => change({ scope: event.target.value || undefined })}
          >
            <option value="">Host and manager</option>
            <option value="host">On hosts</option>
            <option value="manager">In the manager</option>
          </Select>
          <Select
            aria-label="Class"
            fit
            value={search.class ?? ""}
            onChange={(event) => change({ class: event.target.value || undefined })}
          >
            <option value="">Every class</option>
            <option value="safe">safe</option>
            <option value="mutating">mutating</option>
            <option value="dangerous">dangerous</option>
          </Select>
          {capabilities.data && (
            <span className="text-12 text-muted" role="status">
              {groups.reduce((sum, [, members]) => sum + members.length, 0)} of {capabilities.data.length}
            </span>
          )}
        </div>
      }
    >
      {capabilities.error && (
        <Failed
          what="The skills could not be read."
          error={capabilities.error}
          onRetry={() => void capabilities.refetch()}
        />
      )}
      {capabilities.isPending && <SkeletonRows rows={10} />}
      {capabilities.data && groups.length === 0 && (
        <Empty icon={Blocks} title="No skill fits the filter">
          A skill is one thing that Steadyhand can do, on a host or in the manager.
        </Empty>
      )}
      <Packs />
      {groups.map(([category, members]) => (
        <section key={category} aria-label={humanKey(category)}>
          <h2 className="sticky top-0 z-10 border-y border-line bg-surface px-4 py-1 text-12 font-medium text-muted md:px-6">
            {humanKey(category)}
          </h2>
          <ul className="text-13">
            {members.map((each) => (
              <SkillRow key={`${each.scope}-${each.key}`} capability={each} />
            ))}
          </ul>
        </section>
      ))}
    </Page>
  );
}

/** Whether calls of a skill can have a class: where the arguments decide, its least one or any above. */
function canBe(capability: Capability, wanted: string): boolean {
  const order: string[] = [...CLASSES];
  return capability.classed_by ? order.indexOf(wanted) >= order.indexOf(capability.class) : capability.class === wanted;
}

function SkillRow({ capability }: { capability: Capability }) {
  return (
    <li
      data-skill={`${capability.scope}/${capability.key}`}
      className="relative grid min-h-10 grid-cols-[1fr_auto] items-center gap-x-4 border-b border-line/60 px-4 py-1.5 hover:bg-surface md:grid-cols-[176px_72px_176px_1fr_minmax(120px,max-content)] md:px-6"
    >
      <Link
        to="/skills/$scope/$key"
        params={{ scope: capability.scope, key: capability.key }}
        data-row
        className="truncate font-mono text-12 font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
      >
        {capability.key}
      </Link>
      <span className="max-md:hidden">
        <ScopeChip value={capability.scope} />
      </span>
      <SkillClass skill={capability} />
      <span className="truncate text-muted max-md:col-span-2" title={capability.description}>
        <Inline text={capability.description} />
      </span>
      <span className="text-right text-12 max-md:hidden">
        <Where capability={capability} />
      </span>
    </li>
  );
}

function Where({ capability }: { capability: Capability }) {
  if (capability.scope === "manager")
    return <span className="text-muted">{capability.batch ? "several hosts at once" : "in the manager"}</span>;
  const online = capability.hosts.filter((host) => host.online);
  const able = online.filter((host) => host.unmet.length === 0);
  if (online.length === 0) return <span className="text-muted">no host online</span>;
  if (able.length === online.length)
    return <span className="text-muted">{able.length === 1 ? "1 host" : `${able.length} hosts`}</span>;
  return (
    <span
      className="text-mutating"
      title={online
        .filter((host) => host.unmet.length > 0)
        .map((host) => `${host.name}: ${host.unmet.join(", ")}`)
        .join("\n")}
    >
      {able.length} of {online.length} hosts
    </span>
  );
}
