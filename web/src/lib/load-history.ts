/** The load that this tab has seen per host, for sparklines. The manager keeps no series yet. */
import type { Host } from "../api/types";

const KEPT = 40;
const seen = new Map<number, { at: number; value: number }[]>();

/** Remembers what a fresh answer says; called once per answer. */
export function noteLoads(hosts: readonly Host[], now: number): void {
  for (const host of hosts) {
    const value = host.load?.cpu_percent;
    if (typeof value !== "number") continue;
    const samples = seen.get(host.id) ?? [];
    const last = samples.at(-1);
    if (last && now - last.at < 900) continue;
    seen.set(host.id, [...samples, { at: now, value }].slice(-KEPT));
  }
}

export function loadsOf(host: number): number[] {
  return (seen.get(host) ?? []).map((sample) => sample.value);
}
