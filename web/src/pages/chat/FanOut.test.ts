import { describe, expect, it } from "vitest";
import type { ChatCall } from "../../events/reducer";
import { groupByOutcome } from "./FanOut";

function call(id: string, change: Partial<ChatCall>): ChatCall {
  return {
    id,
    turnId: "t",
    tool: "host_load",
    scope: "host",
    class: "safe",
    edgeId: 1,
    edgeName: id,
    args: {},
    parentId: "p",
    round: 1,
    startedAt: "",
    state: "succeeded",
    error: null,
    errorKind: null,
    progress: null,
    preview: null,
    result: { load1: 0.4 },
    resultBytes: null,
    durationMs: 3,
    sandbox: null,
    approval: null,
    ...change,
  };
}

describe("a fan-out", () => {
  it("folds hosts with the same outcome, whatever time they took", () => {
    const calls = [
      call("a", {}),
      call("b", { durationMs: 90 }),
      call("c", { state: "failed", error: "offline", result: undefined }),
    ];
    expect(groupByOutcome(calls).map((group) => group.calls.map((each) => each.id))).toEqual([["a", "b"], ["c"]]);
  });

  it("keeps hosts apart that differ in one value", () => {
    expect(groupByOutcome([call("a", {}), call("b", { result: { load1: 0.5 } })])).toHaveLength(2);
  });
});
