/** The values of the API's enumerations, for filters and for reading addresses. */
import type { CallState, CapabilityClass, Origin } from "./types";

export const CLASSES = ["safe", "mutating", "dangerous"] as const satisfies readonly CapabilityClass[];

export const CALL_STATES = [
  "invalid",
  "refused",
  "awaiting_approval",
  "denied",
  "expired",
  "queued",
  "running",
  "succeeded",
  "failed",
  "timed_out",
  "cancelled",
  "unknown",
] as const satisfies readonly CallState[];

const OPEN: ReadonlySet<CallState> = new Set(["awaiting_approval", "queued", "running"]);

/** Whether a call has ended: nothing changes any more. */
export function isFinal(state: CallState): boolean {
  return !OPEN.has(state);
}

export const ORIGINS = ["chat", "api", "cli", "mcp", "schedule", "agent", "local"] as const satisfies readonly Origin[];
