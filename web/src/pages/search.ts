/** What pages keep in the address. Anything unknown is dropped. */
function word(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
}

export interface HostsSearch {
  q?: string;
  state?: string;
}

export function readHostsSearch(search: Record<string, unknown>): HostsSearch {
  return { q: word(search.q), state: word(search.state) };
}

export const HOST_TABS = ["overview", "skills", "calls", "settings"] as const;
export type HostTab = (typeof HOST_TABS)[number];

export function readHostTab(search: Record<string, unknown>): { tab?: HostTab } {
  return { tab: HOST_TABS.find((tab) => tab === search.tab) };
}

export interface SkillsSearch {
  q?: string;
  scope?: string;
  class?: string;
}

export function readSkillsSearch(search: Record<string, unknown>): SkillsSearch {
  return { q: word(search.q), scope: word(search.scope), class: word(search.class) };
}
