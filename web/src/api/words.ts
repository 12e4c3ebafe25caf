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

export const ORIGINS = ["chat", "api", "cli", "mcp", "schedule", "agent", "local"] as const satisfies readonly Origin[];
