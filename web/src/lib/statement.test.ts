import { describe, expect, it } from "vitest";
import type { Signing, Statement } from "../api/signing";
import type { Json, JsonObject } from "../api/types";
import { sha256 } from "./bytes";
import { canonical } from "./canonical";
import { type Shown, whatDiffers } from "./statement";

const args = { delay_seconds: 60, reason: "kernel update 6.1" };
const shown: Shown = {
  call_id: "c1",
  edge_id: 7,
  tool: "reboot_host",
  definition_hash: "5d",
  signing: { sop: { id: "reboot-web", version: 3, step: "reboot" } } as Signing,
};

async function opened(change: JsonObject = {}, more: Partial<Statement> = {}): Promise<Statement> {
  const statement = canonical({
    domain: "steadyhand/approval/v1",
    call_id: "c1",
    edge_id: 7,
    tool: "reboot_host",
    definition_hash: "5d",
    args_hash: await sha256(canonical(args)),
    sop: { id: "reboot-web", version: 3, step: "reboot" },
    requester: "kim",
    nonce: "00",
    not_after: "2026-11-30T16:00:00Z",
    ...change,
  });
  return {
    statement,
    digest: await sha256(statement),
    args,
    not_after: "2026-11-30T16:00:00Z",
    signatures_needed: 2,
    ...more,
  };
}

describe("the statement of a call", () => {
  it("is signed when it is about the call on the card", async () => {
    expect(await whatDiffers(shown, { reason: args.reason, delay_seconds: 60 }, await opened())).toBeNull();
  });

  it("may name no procedure where the call needs none", async () => {
    const plain = { ...shown, signing: { sop: null } as Signing };
    expect(await whatDiffers(plain, args, await opened({ sop: null }))).toBeNull();
  });

  it.each<[string, JsonObject, Partial<Statement>]>([
    ["another call", { call_id: "c2" }, {}],
    ["another host", { edge_id: 8 }, {}],
    ["another skill", { tool: "remove_path" }, {}],
    ["another definition", { definition_hash: "5e" }, {}],
    ["another procedure", { sop: { id: "reboot-all", version: 3, step: "reboot" } }, {}],
    ["another procedure", { sop: { id: "reboot-web", version: 4, step: "reboot" } }, {}],
    ["another procedure", { sop: null }, {}],
    ["another purpose", { domain: "payments/v1" }, {}],
    ["other arguments", { args_hash: "00" }, {}],
    ["other arguments", {}, { args: { delay_seconds: 0, reason: "now" } }],
    ["digest", {}, { digest: "00" }],
    ["can't be read", {}, { statement: "[]" }],
    ["can't be read", {}, { statement: "{" }],
  ])("isn't signed with %s", async (words, change, more) => {
    expect(await whatDiffers(shown, args, await opened(change, more))).toContain(words);
  });

  it("isn't signed where the card shows less than what would run", async () => {
    const hidden: Json = { delay_seconds: 60, reason: "«hidden»" };
    expect(await whatDiffers(shown, hidden, await opened())).toContain("other arguments");
  });
});
