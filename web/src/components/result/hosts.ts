/** Results of tools that ask several hosts: `{hosts: [{edge_id, name, state, result | error}]}`. */
import type { CallState, Json } from "../../api/types";
import { isObject } from "./shape";

export interface HostResult {
  edge_id: number;
  name: string;
  state: CallState;
  result?: Json;
  error: string | null;
}

/** The parts by host, or `null` if the result is of another form. */
export function hostResults(value: Json): HostResult[] | null {
  if (!isObject(value) || !Array.isArray(value.hosts) || value.hosts.length === 0) return null;
  const found: HostResult[] = [];
  for (const each of value.hosts) {
    if (!isObject(each) || typeof each.edge_id !== "number" || typeof each.state !== "string") return null;
    found.push({
      edge_id: each.edge_id,
      name: typeof each.name === "string" ? each.name : `host ${each.edge_id}`,
      state: each.state as CallState,
      result: each.result,
      error: typeof each.error === "string" ? each.error : typeof each.reason === "string" ? each.reason : null,
    });
  }
  return found;
}

/** Hosts with the same outcome together, in the order of the first of each. */
export function foldEqual(hosts: HostResult[]): HostResult[][] {
  const groups = new Map<string, HostResult[]>();
  for (const host of hosts) {
    const key = JSON.stringify([host.state, host.error, host.result ?? null]);
    groups.set(key, [...(groups.get(key) ?? []), host]);
  }
  return [...groups.values()];
}
