/** What pages keep in the address. Anything unknown is dropped. */
import { OUTCOMES, type Outcome } from "../lib/approval";

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

export const APPROVAL_TABS = ["inbox", "history", "grants"] as const;
export type ApprovalTab = (typeof APPROVAL_TABS)[number];

export interface ApprovalsSearch {
  tab?: ApprovalTab;
  q?: string;
  outcome?: Outcome;
  tool?: string;
  /** Grants that hold no more as well. */
  ended?: boolean;
}

export function readApprovalsSearch(search: Record<string, unknown>): ApprovalsSearch {
  return {
    tab: APPROVAL_TABS.find((tab) => tab === search.tab && tab !== "inbox"),
    q: word(search.q),
    outcome: OUTCOMES.find((outcome) => outcome === search.outcome),
    tool: word(search.tool),
    ended: search.ended === true || search.ended === "true" ? true : undefined,
  };
}

/** What the policy is asked about. */
export function readPolicySearch(search: Record<string, unknown>): { tool?: string } {
  return { tool: word(search.tool) };
}

export interface SecuritySearch {
  /** The procedure that is open, as `id/version`. */
  sop?: string;
  /** Procedures that hold no more as well. */
  ended?: boolean;
}

export function readSecuritySearch(search: Record<string, unknown>): SecuritySearch {
  return {
    sop: word(search.sop),
    ended: search.ended === true || search.ended === "true" ? true : undefined,
  };
}
