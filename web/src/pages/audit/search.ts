/** The audit's filters as they stand in the address. */
import type { CallFilter, CallState, CapabilityClass, Origin } from "../../api/types";
import { CALL_STATES, CLASSES, ORIGINS } from "../../api/words";

export const RANGES = { "1h": 3_600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 } as const;
export type Range = keyof typeof RANGES;

export interface AuditSearch {
  tool?: string;
  class?: CapabilityClass;
  state?: CallState;
  edge?: number;
  user?: number;
  session?: string;
  origin?: Origin;
  q?: string;
  /** A span of time that ends now … */
  range?: Range | "all";
  /** … or a fixed one, which wins. */
  from?: string;
  to?: string;
  /** The call whose detail is open. */
  call?: string;
}

export const DEFAULT_RANGE: Range = "24h";

function word(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function oneOf<T extends string>(values: readonly T[], value: unknown): T | undefined {
  return values.find((each) => each === value);
}

function whole(value: unknown): number | undefined {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) ? number : undefined;
}

function time(value: unknown): string | undefined {
  return typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  const range = word(search.range);
  return {
    tool: word(search.tool),
    class: oneOf(CLASSES, search.class),
    state: oneOf(CALL_STATES, search.state),
    edge: whole(search.edge),
    user: whole(search.user),
    session: word(search.session),
    origin: oneOf(ORIGINS, search.origin),
    q: typeof search.q === "number" ? String(search.q) : word(search.q),
    range: range === "all" || (range !== undefined && range in RANGES) ? (range as Range) : undefined,
    from: time(search.from),
    to: time(search.to),
    call: word(search.call),
  };
}

/** The span that the density strip shows. `to` is rounded up to the minute, so that the query's key stays the same. */
export function spanOf(search: AuditSearch, now: number): { from: number; to: number } {
  const to = search.to ? Date.parse(search.to) : Math.ceil(now / 60_000) * 60_000;
  if (search.from) return { from: Date.parse(search.from), to };
  const range = search.range === "all" ? "30d" : (search.range ?? DEFAULT_RANGE);
  return { from: to - RANGES[range] * 1000, to };
}

/** The filter for rows and exports. */
export function filterOf(search: AuditSearch, now: number): CallFilter {
  const { range, call: _call, ...filter } = search;
  if (filter.from || filter.to || range === "all") return filter;
  return { ...filter, from: new Date(spanOf(search, now).from).toISOString() };
}
