import { describe, expect, it } from "vitest";
import { apply, askedOf, childrenOf, emptyConversation, reduce, waitingIn } from "./reducer";
import type { TurnEvent } from "./types";

type Draft = Pick<TurnEvent, "kind" | "payload">;

function log(drafts: Draft[], turnId = "t1", firstId = 1): TurnEvent[] {
  return drafts.map(
    (draft, index) =>
      ({
        id: firstId + index,
        session_id: "s1",
        turn_id: turnId,
        seq: index + 1,
        at: `2026-05-01T10:00:${String(index).padStart(2, "0")}Z`,
        ...draft,
      }) as TurnEvent,
  );
}

const turn: Draft[] = [
  { kind: "chat.user-message.v1", payload: { message_id: "u1", text: "how loaded?", user_id: 1, user_name: "admin" } },
  { kind: "chat.turn-started.v1", payload: { model: { provider: "builtin", model: "router", builtin: true } } },
  { kind: "chat.phase.v1", payload: { phase: "model", round: 1 } },
  { kind: "chat.text-delta.v1", payload: { message_id: "m1", text: "Let me " } },
  { kind: "chat.text-delta.v1", payload: { message_id: "m1", text: "look." } },
  {
    kind: "chat.message.v1",
    payload: { message_id: "m1", text: "Let me look.", calls: [{ call_id: "c1", tool: "host_load" }] },
  },
  { kind: "chat.phase.v1", payload: { phase: "tools", round: 1 } },
  {
    kind: "chat.tool-call.v1",
    payload: {
      call_id: "c1",
      tool: "host_load",
      scope: "host",
      class: "safe",
      edge_id: 1,
      edge_name: "web-1",
      args: {},
    },
  },
  {
    kind: "chat.tool-result.v1",
    payload: { call_id: "c1", state: "succeeded", result: { load1: 0.4 }, result_bytes: 14, duration_ms: 31 },
  },
  { kind: "chat.phase.v1", payload: { phase: "model", round: 2 } },
  { kind: "chat.text-delta.v1", payload: { message_id: "m2", text: "half an ans" } },
  { kind: "attempt.superseded.v1", payload: { message_id: "m2" } },
  { kind: "chat.text-delta.v1", payload: { message_id: "m3", text: "It is " } },
  { kind: "chat.reasoning-delta.v1", payload: { message_id: "m3", text: "thinking" } },
  { kind: "chat.text-delta.v1", payload: { message_id: "m3", text: "idle." } },
  { kind: "chat.message.v1", payload: { message_id: "m3", text: "It is idle.", calls: [] } },
  {
    kind: "chat.turn-finished.v1",
    payload: { outcome: "answered", usage: { input_tokens: 10, output_tokens: 4 }, duration_ms: 80 },
  },
];

describe("the turn reducer", () => {
  it("shows what the model said, then its calls, then the answer", () => {
    const [shown] = reduce(emptyConversation, log(turn)).turns;
    expect(shown?.parts).toEqual([
      { kind: "text", messageId: "m1", text: "Let me look.", reasoning: "", complete: true },
      { kind: "call", callId: "c1" },
      { kind: "text", messageId: "m3", text: "It is idle.", reasoning: "", complete: true },
    ]);
    expect(shown?.calls.c1).toMatchObject({ state: "succeeded", durationMs: 31, result: { load1: 0.4 } });
    expect(shown).toMatchObject({ phase: "done", outcome: "answered", round: 2 });
  });

  it("shows the same after a replay without the deltas of finished messages", () => {
    const events = log(turn);
    const finished = new Set(["m1", "m2", "m3"]);
    const replay = events.filter(
      (event) =>
        !(
          (event.kind === "chat.text-delta.v1" || event.kind === "chat.reasoning-delta.v1") &&
          finished.has(event.payload.message_id)
        ),
    );
    expect(reduce(emptyConversation, replay)).toEqual(reduce(emptyConversation, events));
  });

  it("shows the same wherever the replay ends and the stream begins, with any overlap", () => {
    const events = log(turn);
    const whole = reduce(emptyConversation, events);
    for (let cut = 0; cut <= events.length; cut += 1) {
      for (let overlap = 0; overlap <= cut; overlap += 3) {
        const replayed = reduce(emptyConversation, events.slice(0, cut));
        expect(reduce(replayed, events.slice(cut - overlap))).toEqual(whole);
      }
    }
  });

  it("drops the deltas of a superseded attempt", () => {
    const upTo = turn.findIndex((draft) => draft.kind === "attempt.superseded.v1");
    const before = reduce(emptyConversation, log(turn.slice(0, upTo)));
    const after = reduce(emptyConversation, log(turn.slice(0, upTo + 1)));
    expect(JSON.stringify(before)).toContain("half an ans");
    expect(JSON.stringify(after)).not.toContain("half an ans");
  });

  it("ignores a delta that comes after its message is whole", () => {
    const late = log([...turn, { kind: "chat.text-delta.v1", payload: { message_id: "m3", text: "again" } }]);
    expect(reduce(emptyConversation, late).turns).toEqual(reduce(emptyConversation, log(turn)).turns);
  });

  it("shows the latest line of a call while it runs, and none when it has ended", () => {
    const until = turn.findIndex((event) => event.kind === "chat.tool-result.v1");
    const line = (text: string): Draft => ({ kind: "chat.tool-progress.v1", payload: { call_id: "c1", line: text } });
    const running = [...turn.slice(0, until), line("step 1"), line("step 2")];
    expect(reduce(emptyConversation, log(running)).turns[0]?.calls.c1).toMatchObject({ progress: "step 2" });
    const ended = [...running, ...turn.slice(until), line("too late")];
    expect(reduce(emptyConversation, log(ended)).turns[0]?.calls.c1?.progress).toBeNull();
  });

  it("keeps a message without text out of sight", () => {
    const events = log([
      { kind: "chat.text-delta.v1", payload: { message_id: "m1", text: " " } },
      { kind: "chat.message.v1", payload: { message_id: "m1", text: "", calls: [] } },
    ]);
    expect(reduce(emptyConversation, events).turns[0]?.parts).toEqual([]);
  });

  it("draws a child call inside of its parent", () => {
    const events = log([
      {
        kind: "chat.tool-call.v1",
        payload: { call_id: "p", tool: "host_load", scope: "manager", class: "safe", args: { edge_ids: [1, 2] } },
      },
      {
        kind: "chat.tool-call.v1",
        payload: {
          call_id: "a",
          tool: "host_load",
          scope: "host",
          class: "safe",
          edge_id: 1,
          args: {},
          parent_call_id: "p",
        },
      },
      {
        kind: "chat.tool-call.v1",
        payload: {
          call_id: "b",
          tool: "host_load",
          scope: "host",
          class: "safe",
          edge_id: 2,
          args: {},
          parent_call_id: "p",
        },
      },
    ]);
    const [shown] = reduce(emptyConversation, events).turns;
    expect(shown?.parts).toEqual([{ kind: "call", callId: "p" }]);
    expect(shown && childrenOf(shown, "p").map((call) => call.id)).toEqual(["a", "b"]);
  });

  it("keeps the turns apart and leaves untouched ones identical", () => {
    const first = reduce(emptyConversation, log(turn));
    const second = reduce(first, log(turn, "t2", 100));
    expect(second.turns.map((each) => each.id)).toEqual(["t1", "t2"]);
    expect(second.turns[0]).toBe(first.turns[0]);
  });

  it("passes over an unknown kind but remembers its id", () => {
    const event = { ...log(turn)[0], kind: "chat.hologram.v9", payload: {} } as unknown as TurnEvent;
    expect(apply(emptyConversation, event).lastId).toBe(1);
  });
});

describe("a call that waits for a person", () => {
  const call: Draft = {
    kind: "chat.tool-call.v1",
    payload: {
      call_id: "c1",
      tool: "restart_service",
      scope: "host",
      class: "mutating",
      edge_id: 1,
      edge_name: "web-1",
      args: { service: "nginx.service" },
    },
  };
  const asked = (state: "pending" | "approved" | "denied" | "expired" | "withdrawn"): Draft => ({
    kind: "chat.approval.v1",
    payload: { approval_id: "p1", call_id: "c1", state },
  });
  const stateAfter = (...drafts: Draft[]) => reduce(emptyConversation, log(drafts)).turns[0]?.calls.c1?.state;

  it("says so, and what came of it", () => {
    expect(stateAfter(call, asked("pending"))).toBe("awaiting_approval");
    expect(stateAfter(call, asked("pending"), asked("approved"))).toBe("running");
    expect(stateAfter(call, asked("pending"), asked("denied"))).toBe("denied");
    expect(stateAfter(call, asked("pending"), asked("expired"))).toBe("expired");
    expect(stateAfter(call, asked("pending"), asked("withdrawn"))).toBe("cancelled");
  });

  it("begins to count its time with the decision", () => {
    const events = log([call, asked("pending"), asked("approved")]);
    expect(reduce(emptyConversation, events).turns[0]?.calls.c1?.startedAt).toBe(events[2]?.at);
  });

  it("doesn't wait again when it is asked again after a restart, once decided", () => {
    expect(stateAfter(call, asked("pending"), asked("pending"))).toBe("awaiting_approval");
    expect(stateAfter(call, asked("pending"), asked("approved"), asked("pending"))).toBe("running");
  });

  it("keeps its result when the decision is told late", () => {
    const result: Draft = { kind: "chat.tool-result.v1", payload: { call_id: "c1", state: "succeeded" } };
    expect(stateAfter(call, asked("pending"), result, asked("approved"))).toBe("succeeded");
    const [turn] = reduce(emptyConversation, log([call, asked("pending"), asked("approved"), result])).turns;
    expect(turn?.calls.c1?.approval).toEqual({ id: "p1", state: "approved" });
  });

  it("is counted while it waits, and found below the call that made it", () => {
    const child: Draft = {
      kind: "chat.tool-call.v1",
      payload: {
        call_id: "c2",
        tool: "bash",
        scope: "host",
        class: "mutating",
        edge_id: 2,
        args: { command: "true" },
        parent_call_id: "c1",
      },
    };
    const childAsked: Draft = {
      kind: "chat.approval.v1",
      payload: { approval_id: "p2", call_id: "c2", state: "pending" },
    };
    const [turn] = reduce(emptyConversation, log([call, child, childAsked])).turns;
    const parent = turn?.calls.c1;
    expect(waitingIn(turn)).toBe(1);
    expect(turn && parent && askedOf(turn, parent).map((each) => each.id)).toEqual(["c2"]);
  });

  it("is passed over when nobody knows its call", () => {
    expect(reduce(emptyConversation, log([asked("pending")])).turns[0]?.calls).toEqual({});
  });
});
