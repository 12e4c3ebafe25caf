/**
 * Whether the statement that is about to be signed is the call on the card. A console that lies could skip this; it
 * catches mistakes. Who trusts nobody recomputes it: `steadyhand approve ID --show`.
 */
import type { Approval } from "../api/approvals";
import type { Statement } from "../api/signing";
import type { Json, JsonObject } from "../api/types";
import { sha256 } from "./bytes";
import { canonical } from "./canonical";

export type Shown = Pick<Approval, "call_id" | "edge_id" | "tool" | "definition_hash" | "signing">;

/** What doesn't fit, in a sentence; `null` when all does. `args` are those that the card shows. */
export async function whatDiffers(shown: Shown, args: Json, opened: Statement): Promise<string | null> {
  const stated = read(opened.statement);
  if (!stated) return "The statement can't be read.";
  if ((await sha256(opened.statement)) !== opened.digest) return "The statement's digest is another.";
  const sop = shown.signing?.sop ?? null;
  const wanted: [string, Json | undefined, Json | undefined][] = [
    ["another purpose", stated.domain, "steadyhand/approval/v1"],
    ["another call", stated.call_id, shown.call_id],
    ["another host", String(stated.edge_id), String(shown.edge_id)],
    ["another skill", stated.tool, shown.tool],
    ["another definition of the skill", stated.definition_hash, shown.definition_hash],
    ["another procedure", stated.sop ?? null, sop && { id: sop.id, version: sop.version, step: sop.step }],
    ["other arguments", opened.args, args],
    ["other arguments", stated.args_hash, await sha256(canonical(opened.args))],
  ];
  const other = wanted.find(([, has, should]) => canonical(has ?? null) !== canonical(should ?? null));
  return other ? `The statement is about ${other[0]} than this card shows.` : null;
}

function read(text: string): JsonObject | null {
  try {
    const value: Json = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
