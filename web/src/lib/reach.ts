/** Which hosts an account may see and use, in words and from them. The manager decides. */
import type { User } from "../api/types";

export type Reach = NonNullable<User["hosts"]>;

export function isRestricted({ edge_ids = [], labels = [] }: Reach): boolean {
  return edge_ids.length > 0 || labels.length > 0;
}

/** `web-1, host 7, and those with env=staging`; `null` for all hosts. A host that isn't seen here keeps its id. */
export function reachWords(reach: Reach, hosts: readonly { id: number; name: string }[]): string | null {
  const { edge_ids = [], labels = [] } = reach;
  if (!isRestricted(reach)) return null;
  const names = edge_ids.map((id) => hosts.find((host) => host.id === id)?.name ?? `host ${id}`);
  const named = names.join(", ");
  if (labels.length === 0) return named;
  const selected = `those with ${labels.join(" or ")}`;
  return named ? `${named}, and ${selected}` : selected;
}

/** Selectors as people write them, one a line: `env=staging`, or `env=prod,role=web` for both together. */
export function parseSelectors(text: string): { labels: string[]; problem: string | null } {
  const labels: string[] = [];
  for (const line of text.split("\n")) {
    const selector = line.replace(/\s*([=,])\s*/g, "$1").trim();
    if (!selector) continue;
    if (!selector.split(",").every((part) => /^[^\s=,]{1,64}=[^\s=,]{1,64}$/.test(part))) {
      return { labels, problem: `“${line.trim()}” is not of the form name=value` };
    }
    labels.push(selector);
  }
  return { labels, problem: null };
}
