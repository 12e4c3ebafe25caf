/** What approval cards say and mark. Pure; the manager decides who may what. */
import type { Approval, ClassReason, Decision, Grant, GrantWish } from "../api/approvals";
import { formatCountdown, formatSeconds } from "./format";
import { isHiddenCharacter, nameOfCharacter } from "./hidden";
import { formatLabels } from "./labels";
import { peopleOf, signedCount } from "./signing";

/** A part of a command. */
export interface Piece {
  text: string;
  /** Which reasons are about it, as indices. */
  reasons: number[];
  /** A character that wouldn't show, or would show out of order. `text` then names it. */
  hidden: boolean;
}

function marks(reason: ClassReason, text: string): reason is ClassReason & { start: number; end: number } {
  const { start, end } = reason;
  if (typeof start !== "number" || typeof end !== "number") return false;
  return start >= 0 && start < end && end <= text.length;
}

/** Cuts a command where the reasons' ranges begin and end. They are counted in UTF-16 code units, as strings are here. */
export function piecesOf(command: string, reasons: readonly ClassReason[]): Piece[] {
  const ranges = reasons.flatMap((reason, index) =>
    marks(reason, command) ? [{ index, start: reason.start, end: reason.end }] : [],
  );
  const pieces: Piece[] = [];
  let at = 0;
  for (const text of command) {
    const about = ranges.filter((range) => range.start <= at && at < range.end).map((range) => range.index);
    at += text.length;
    const hidden = isHiddenCharacter(text);
    const last = pieces.at(-1);
    if (last && !hidden && !last.hidden && last.reasons.join() === about.join()) last.text += text;
    else pieces.push({ text: hidden ? nameOfCharacter(text) : text, reasons: about, hidden });
  }
  return pieces;
}

/** The part of the command that a reason is about; `null` when it is about the whole. */
export function partOf(command: string, reason: ClassReason): string | null {
  if (!marks(reason, command) || (reason.start === 0 && reason.end === command.length)) return null;
  return command.slice(reason.start, reason.end);
}

export interface Countdown {
  text: string;
  /** Too little is left to think long. */
  urgent: boolean;
  over: boolean;
}

const URGENT_SECONDS = 30;

export function countdownTo(decideBy: string, now: number): Countdown {
  const seconds = (Date.parse(decideBy) - now) / 1000;
  if (!(seconds > 0)) return { text: "0:00", urgent: true, over: true };
  // Hours and days are told in words: `2:59:13` says nothing more than `2 h 59 min`.
  const text = seconds >= 3600 ? formatSeconds(seconds) : formatCountdown(seconds);
  return { text, urgent: seconds <= URGENT_SECONDS, over: false };
}

/** Whose wish it is: `Ada`, `the model for Ada`, `the token “ci” of Ada`. */
export function askerOf(approval: Pick<Approval, "by_model" | "token_name" | "requested_by">): string {
  const { by_model, token_name, requested_by } = approval;
  if (token_name) return `the token “${token_name}” of ${requested_by.name}`;
  return by_model ? `the model for ${requested_by.name}` : requested_by.name;
}

const ALLOWED: Record<Exclude<Decision, "deny">, string> = {
  allow_once: "Allowed once",
  allow_chat: "Allowed in this chat",
  allow_always: "Always allowed",
};

type Decided = Pick<Approval, "state" | "decision" | "signing">;

export function decisionWord(approval: Decided): string {
  const { signing } = approval;
  if (signing) {
    if (approval.state === "pending") return `Waits for ${signing.needed === 1 ? "a signature" : "signatures"}`;
    if (approval.state === "approved") return `Signed by ${peopleOf(signing.signatures)}`;
    if (approval.state === "expired") return `Only ${signedCount(signing)} in time`;
  }
  switch (approval.state) {
    case "pending":
      return "Waits for a decision";
    case "denied":
      return "Denied";
    case "expired":
      return "Nobody decided in time";
    case "withdrawn":
      return "Withdrawn";
    case "approved":
      return approval.decision && approval.decision !== "deny" ? ALLOWED[approval.decision] : "Allowed";
  }
}

/** `Denied by Ada` */
export function decisionLine(approval: Decided & Pick<Approval, "decided_by">): string {
  if (approval.signing && approval.state === "approved") return decisionWord(approval);
  const who = approval.decided_by && approval.state !== "expired" ? ` by ${approval.decided_by.name}` : "";
  return `${decisionWord(approval)}${who}`;
}

/** What somebody is told whose decision came too late. */
export function lateWord(state: Approval["state"]): string {
  if (state === "expired") return "The time was over before your decision arrived.";
  if (state === "withdrawn") return "The call was stopped before your decision arrived.";
  return "Somebody decided before you; this is what counts.";
}

/** Why the buttons do nothing; `null` when they do. */
export function whyNot(
  approval: Pick<Approval, "state" | "may_decide" | "may_not_because" | "decide_by">,
  now: number,
): string | null {
  if (approval.state !== "pending") return decisionWord(approval);
  if (!approval.may_decide) return approval.may_not_because || "You may not decide this";
  // A moment longer than the manager waits, whose clock it is.
  return Date.parse(approval.decide_by) + 2_000 < now ? "The time to decide is over" : null;
}

/** Why nobody who looks at the card can sign; `null` when they can. */
export function whyNotSign(
  approval: Pick<Approval, "state" | "decision" | "signing" | "decide_by">,
  now: number,
): string | null {
  const { signing } = approval;
  if (approval.state !== "pending" || !signing) return decisionWord(approval);
  if (!signing.may_sign) return signing.may_not_because || "You may not sign this";
  return Date.parse(approval.decide_by) + 2_000 < now ? "The time to decide is over" : null;
}

export const EXPIRIES: readonly { hours: number; word: string }[] = [
  { hours: 1, word: "1 hour" },
  { hours: 8, word: "8 hours" },
  { hours: 24, word: "1 day" },
  { hours: 168, word: "7 days" },
  { hours: 720, word: "30 days" },
  { hours: 2160, word: "90 days" },
  { hours: 8760, word: "1 year" },
];
export const DEFAULT_EXPIRY_HOURS = 720;

export function expiriesFor(approval: Pick<Approval, "args_scope_fixed">): typeof EXPIRIES {
  return approval.args_scope_fixed ? EXPIRIES.filter((each) => each.hours <= 720) : EXPIRIES;
}

/** What a grant would allow, in one sentence. */
export function grantSentence(
  approval: Pick<Approval, "tool" | "scope" | "edge_name" | "args_scope_fixed">,
  wish: GrantWish,
): string {
  const where =
    approval.scope === "manager"
      ? "in the manager"
      : wish.edges === "this"
        ? `on ${approval.edge_name ?? "this host"}`
        : wish.edges === "labels"
          ? `on every host with ${formatLabels(wish.labels ?? {}) || "…"}`
          : "on every host";
  const what =
    wish.arguments === "any"
      ? "with any arguments"
      : approval.args_scope_fixed
        ? "with exactly this command"
        : "with exactly these arguments";
  const long = EXPIRIES.find((each) => each.hours === wish.expires_in_hours)?.word ?? `${wish.expires_in_hours} hours`;
  const often = wish.uses ? `, ${wish.uses === 1 ? "once" : `${wish.uses} times at most`}` : "";
  return `Runs ${approval.tool} ${where} ${what} without asking, for ${long}${often}.`;
}

/** Where a grant holds. */
export function placeOfGrant(grant: Grant): string {
  if (grant.edge_id) return `on ${grant.edge_name ?? `host ${grant.edge_id}`}`;
  if (grant.labels && Object.keys(grant.labels).length > 0) return `on hosts with ${formatLabels(grant.labels)}`;
  return grant.scope === "manager" ? "in the manager" : "on every host";
}

export interface HistoryFilter {
  q?: string;
  outcome?: Outcome;
  tool?: string;
}

export const OUTCOMES = ["allowed", "denied", "expired", "withdrawn"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export function outcomeOf(approval: Pick<Approval, "state">): Outcome | null {
  if (approval.state === "pending") return null;
  return approval.state === "approved" ? "allowed" : approval.state;
}

export function fits(approval: Approval, filter: HistoryFilter): boolean {
  if (filter.outcome && outcomeOf(approval) !== filter.outcome) return false;
  if (filter.tool && approval.tool !== filter.tool) return false;
  const text = [
    approval.tool,
    approval.signing?.sop?.id,
    ...(approval.signing?.signatures.map((each) => each.person) ?? []),
    approval.edge_name,
    JSON.stringify(approval.args),
    approval.requested_by.name,
    approval.decided_by?.name,
    approval.note,
    approval.session_title,
  ]
    .join(" ")
    .toLowerCase();
  return (filter.q ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/**
 * The inbox as it stands on the screen. Cards keep their places while one decides: what was decided stays where it is,
 * and what is new waits above (`held`) while `busy`, so that no card slides under a finger.
 */
export function arrange(
  shown: readonly string[],
  pending: readonly string[],
  busy: boolean,
): { shown: string[]; held: number } {
  const known = new Set(shown);
  const fresh = pending.filter((id) => !known.has(id));
  if (busy && shown.length > 0) return { shown: [...shown], held: fresh.length };
  return { shown: [...fresh, ...shown], held: 0 };
}
