/** Where a call runs, in names: one host, or those that a tool of the manager asks. */
import { useQuery } from "@tanstack/react-query";
import { hostsQuery } from "../api/queries";
import type { Json } from "../api/types";
import { isObject } from "./result/shape";

interface Targeted {
  edgeId: number | null;
  edgeName: string | null;
  args: Json;
}

export function targetIds(call: Targeted): number[] {
  if (call.edgeId !== null) return [call.edgeId];
  const asked = isObject(call.args) ? call.args.edge_ids : undefined;
  return Array.isArray(asked) ? asked.filter((id) => typeof id === "number") : [];
}

const NAMED = 3;

/** `web-1`, `web-1, db-1`, `web-1, db-1, db-2 and 4 more` */
export function useTargets(call: Targeted): string {
  const hosts = useQuery(hostsQuery).data;
  const ids = targetIds(call);
  const nameOf = (id: number) =>
    (id === call.edgeId ? call.edgeName : null) ?? hosts?.find((host) => host.id === id)?.name ?? `host ${id}`;
  const names = ids.slice(0, NAMED).map(nameOf).join(", ");
  return ids.length > NAMED ? `${names} and ${ids.length - NAMED} more` : names;
}
