/**
 * Canonical JSON (RFC 8785), as the manager and the hosts hash arguments: keys by UTF-16 code units, numbers and
 * strings as JavaScript writes them. Whole numbers beyond ±2^53 have lost digits before they get here; their digest
 * then differs, and is told as different.
 */
import type { Json } from "../api/types";

export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}
