/** Plays a turn the way the agent does: events with rising ids, streamed and kept. */
import type { Approval } from "../src/api/approvals";
import type { Call } from "../src/api/types";
import type { TurnEvent } from "../src/events/types";
import { askFor, decided, grantFor, settle } from "./approvals";
import { calls, makeCall, newId, sessions } from "./data";
import { type Planned, plan } from "./plans";

export const events: TurnEvent[] = [];
/** Larger results don't fit into an event. */
const INLINE_BYTES = 2 * 1024 * 1024;
const listeners = new Set<(name: string | null, data: object, id?: number) => void>();
const stops = new Set<string>();

export function listen(listener: (name: string | null, data: object, id?: number) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function announce(name: string, payload: object): void {
  for (const listener of listeners) listener(name, payload);
}

const asking = new Map<string, Approval>();

export function stopTurn(turn: string): void {
  stops.add(turn);
  const approval = asking.get(turn);
  if (approval) settle(approval, { state: "withdrawn", call_state: "cancelled" });
}

export function emit<K extends TurnEvent["kind"]>(
  session: string,
  turn: string,
  kind: K,
  payload: Extract<TurnEvent, { kind: K }>["payload"],
): void {
  const id = events.length + 1;
  const event = {
    id,
    session_id: session,
    turn_id: turn,
    seq: id,
    kind,
    at: new Date().toISOString(),
    payload,
  } as TurnEvent;
  events.push(event);
  for (const listener of listeners) listener(event.kind, event, id);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function playTurn(sessionId: string, turnId: string, text: string, pace = 60): Promise<void> {
  const session = sessions.find((each) => each.id === sessionId);
  const slash = /^\/(\w+)/.exec(text);
  const begin = Date.now();
  emit(sessionId, turnId, "chat.user-message.v1", { message_id: newId(), text, user_id: 1, user_name: "admin" });
  if (session) {
    session.running_turn_id = turnId;
    if (session.title === "New chat") session.title = text.slice(0, 60);
    emit(sessionId, turnId, "session.updated.v1", {
      title: session.title,
      pinned: session.pinned,
      archived: session.archived,
    });
  }
  emit(sessionId, turnId, "chat.turn-started.v1", { model: { provider: "builtin", model: "router", builtin: true } });
  emit(sessionId, turnId, "chat.phase.v1", { phase: "model", round: 1 });
  const planned = plan(text);
  const started: [Planned, Call][] = planned.calls.map((each) => [
    each,
    makeCall({
      tool: each.tool,
      edge_id: each.edge,
      args: each.args,
      state: "running",
      origin: "chat",
      session_id: sessionId,
      turn_id: turnId,
      caller: slash ? { user_id: 1, name: "admin", role: "admin" } : { user_id: 0, name: "system", role: "system" },
      on_behalf_of: slash ? null : { user_id: 1, name: "admin" },
    }),
  ]);
  await pause(pace * 3);
  emit(sessionId, turnId, "chat.message.v1", {
    message_id: newId(),
    text: "",
    calls: started.map(([each, call]) => ({ call_id: call.id, tool: each.tool })),
  });
  emit(sessionId, turnId, "chat.phase.v1", { phase: "tools", round: 1 });
  for (const [, call] of started) {
    calls.unshift(call);
    emit(sessionId, turnId, "chat.tool-call.v1", {
      call_id: call.id,
      tool: call.tool,
      scope: call.scope,
      class: call.class,
      edge_id: call.edge_id,
      edge_name: call.edge_name,
      args: call.args,
    });
    announce("calls.changed.v1", { call_id: call.id, state: call.state });
  }
  let answer = planned.answer;
  for (const [each, call] of started) {
    if (each.asks && !grantFor(call)) {
      const approval = await putToAPerson(sessionId, turnId, call);
      if (approval.state !== "approved") {
        const who = approval.decided_by?.name ?? "nobody";
        call.error =
          approval.state === "denied"
            ? `denied by ${who}${approval.note ? `: ${approval.note}` : ""}`
            : "nobody decided in time";
        emit(sessionId, turnId, "chat.tool-result.v1", { call_id: call.id, state: call.state, error: call.error });
        answer = `I did nothing: ${call.error}`;
        continue;
      }
    }
    if (each.children) playChildren(sessionId, turnId, call, each.children);
    await pause(pace * 6);
    call.state = stops.has(turnId) ? "cancelled" : each.fails ? "failed" : "succeeded";
    call.error = each.fails ?? null;
    call.result = each.result;
    call.result_bytes = JSON.stringify(each.result).length;
    call.finished_at = new Date().toISOString();
    call.duration_ms = pace * 6;
    emit(sessionId, turnId, "chat.tool-result.v1", {
      call_id: call.id,
      state: call.state,
      error: call.error,
      // As from the manager: what is too large for an event is fetched by the call's id.
      result: call.result_bytes > INLINE_BYTES ? undefined : each.result,
      preview: JSON.stringify(each.result).slice(0, 200),
      result_bytes: call.result_bytes,
      duration_ms: call.duration_ms,
    });
    announce("calls.changed.v1", { call_id: call.id, state: call.state });
  }
  const message = newId();
  emit(sessionId, turnId, "chat.phase.v1", { phase: "model", round: 2 });
  // Whoever sets a pace wants it in tokens, which are about words; else a few letters come at a time.
  const deltas = planned.paceMs ? answer.split(/(?<=[ \n])(?=\S)/) : (answer.match(/[\s\S]{1,18}/g) ?? []);
  for (const delta of deltas) {
    if (stops.has(turnId)) break;
    await pause(planned.paceMs ?? pace);
    emit(sessionId, turnId, "chat.text-delta.v1", { message_id: message, text: delta });
  }
  const stopped = stops.has(turnId);
  if (!stopped) emit(sessionId, turnId, "chat.message.v1", { message_id: message, text: answer, calls: [] });
  if (session) {
    session.running_turn_id = null;
    session.updated_at = new Date().toISOString();
  }
  emit(sessionId, turnId, "chat.turn-finished.v1", {
    outcome: stopped ? "stopped" : "answered",
    usage: { input_tokens: 812, output_tokens: 96 },
    duration_ms: Date.now() - begin,
  });
}

/** What a call made on several hosts, each with its own row. */
function playChildren(
  sessionId: string,
  turnId: string,
  parent: Call,
  children: NonNullable<Planned["children"]>,
): void {
  for (const [index, child] of children.entries()) {
    const id = newId();
    emit(sessionId, turnId, "chat.tool-call.v1", {
      call_id: id,
      tool: parent.tool,
      scope: "host",
      class: "safe",
      edge_id: 100 + index,
      edge_name: child.name,
      args: parent.args,
      parent_call_id: parent.id,
    });
    emit(sessionId, turnId, "chat.tool-result.v1", {
      call_id: id,
      state: child.error ? "failed" : "succeeded",
      error: child.error,
      result: child.error ? undefined : child.result,
      duration_ms: 20 + index,
    });
  }
}

async function putToAPerson(sessionId: string, turnId: string, call: Call): Promise<Approval> {
  const approval = askFor(call);
  asking.set(turnId, approval);
  const told = { approval_id: approval.id, call_id: call.id };
  emit(sessionId, turnId, "chat.approval.v1", { ...told, state: "pending", decide_by: approval.decide_by });
  await decided(approval);
  asking.delete(turnId);
  emit(sessionId, turnId, "chat.approval.v1", {
    ...told,
    state: approval.state,
    decision: approval.decision,
    decided_by_name: approval.decided_by?.name,
    note: approval.note,
  });
  return approval;
}
