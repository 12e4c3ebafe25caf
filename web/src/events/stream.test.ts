import { describe, expect, it } from "vitest";
import { readSignal } from "./stream";

describe("a message of the event stream", () => {
  it("is a turn event when it has an id and a chat", () => {
    const event = {
      id: 7,
      session_id: "s",
      turn_id: "t",
      seq: 1,
      kind: "chat.notice.v1",
      at: "",
      payload: { text: "x" },
    };
    expect(readSignal("chat.notice.v1", JSON.stringify(event))).toEqual({ type: "turn-event", event });
  });

  it("is a hint when it names what changed, with or without an envelope", () => {
    expect(readSignal("hosts.changed.v1", '{"edge_id":3}')).toEqual({ type: "host-changed", edgeId: 3 });
    expect(readSignal("message", '{"kind":"hosts.changed.v1","payload":{"edge_id":3}}')).toEqual({
      type: "host-changed",
      edgeId: 3,
    });
    expect(readSignal("calls.changed.v1", '{"call_id":"c","state":"failed"}')).toEqual({
      type: "call-changed",
      callId: "c",
      state: "failed",
    });
    expect(readSignal("packs.changed.v1", "{}")).toEqual({ type: "packs-changed" });
    expect(readSignal("signing.changed.v1", "{}")).toEqual({ type: "signing-changed" });
    expect(readSignal("approval.changed.v1", '{"approval_id":"p","call_id":"c","state":"denied"}')).toEqual({
      type: "approval-changed",
      approvalId: "p",
      callId: "c",
    });
    expect(readSignal("freeze.changed.v1", '{"frozen":true}')).toEqual({ type: "freeze-changed" });
    expect(readSignal("resync.v1", "{}")).toEqual({ type: "resync" });
  });

  it("is passed over when this console doesn't know it or can't read it", () => {
    expect(readSignal("weather.v1", '{"sun":true}')).toBeNull();
    expect(readSignal("message", "half a {")).toBeNull();
    expect(readSignal("message", "null")).toBeNull();
  });
});
