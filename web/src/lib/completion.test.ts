import { describe, expect, it } from "vitest";
import { complete, completionAt, toolOf } from "./completion";

describe("completion in the composer", () => {
  it("offers tools at the start of the message only", () => {
    expect(completionAt("/pro", 4)).toMatchObject({ kind: "tool", query: "pro" });
    expect(completionAt("look at /pro", 12)).toBeNull();
    expect(completionAt("/probe_tcp ta", 13)).toBeNull();
  });

  it("offers hosts after an at sign that begins a word", () => {
    expect(completionAt("how is @we", 10)).toEqual({ kind: "host", query: "we", from: 7, to: 10 });
    expect(completionAt("mail@we", 7)).toBeNull();
    expect(completionAt("how is @web now", 15)).toBeNull();
  });

  it("replaces what was typed and puts the caret behind it", () => {
    const completion = completionAt("is @we up?", 6);
    expect(completion && complete("is @we up?", completion, "web-1")).toEqual({ text: "is @web-1 up?", caret: 10 });
  });

  it("knows the tool of a slash command", () => {
    expect([toolOf("/host_load edge_id=1"), toolOf("/host_load"), toolOf("host_load x")]).toEqual([
      "host_load",
      null,
      null,
    ]);
  });
});
