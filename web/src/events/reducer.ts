/**
 * Folds turn events into what a chat shows. Pure: the same events give the same chat, whether they came live, by
 * replay, or both overlapping. An event at or below `lastId` changes nothing.
 */
import type { ApprovalState } from "../api/approvals";
import type { CallState, CapabilityClass, Json, Scope } from "../api/types";
import type { ModelLabel, Outcome, TurnEvent, Usage } from "./types";

export type Part =
  | { kind: "text"; messageId: string; text: string; reasoning: string; complete: boolean }
  | { kind: "call"; callId: string }
  | { kind: "notice"; id: number; text: string };

export interface ChatCall {
  id: string;
  turnId: string;
  tool: string;
  scope: Scope | null;
  class: CapabilityClass | null;
  edgeId: number | null;
  edgeName: string | null;
  args: Json;
  parentId: string | null;
  /** Which of the turn's rounds it belongs to: calls of one round run side by side. */
  round: number;
  startedAt: string;
  state: CallState;
  /** The latest line that it told while it runs. */
  progress: string | null;
  error: string | null;
  errorKind: string | null;
  preview: string | null;
  /** `undefined` when the result is too large for an event; it is then fetched by call id. */
  result: Json | undefined;
  resultBytes: number | null;
  durationMs: number | null;
  sandbox: string | null;
  /** The decision that it waits or waited for. What the card shows is fetched by this id. */
  approval: { id: string; state: ApprovalState } | null;
}

export interface Turn {
  id: string;
  startedAt: string;
  user: { messageId: string; text: string; userId: number; userName: string } | null;
  model: ModelLabel | null;
  phase: "waiting" | "model" | "tools" | "done";
  round: number;
  parts: Part[];
  calls: Record<string, ChatCall>;
  outcome: Outcome | null;
  reason: string | null;
  usage: Usage | null;
  durationMs: number | null;
}

/** What a call's row says once this stands of its approval. */
const STATE_AFTER: Record<ApprovalState, CallState> = {
  pending: "awaiting_approval",
  approved: "running",
  denied: "denied",
  expired: "expired",
  withdrawn: "cancelled",
};

const ENDED: ReadonlySet<CallState> = new Set(["succeeded", "failed", "timed_out", "unknown", "refused", "invalid"]);

export interface Conversation {
  lastId: number;
  turns: Turn[];
}

export const emptyConversation: Conversation = { lastId: 0, turns: [] };

/** Folds events into a conversation. Turns that none of them is about stay the same objects. */
export function reduce(conversation: Conversation, events: readonly TurnEvent[]): Conversation {
  let { lastId } = conversation;
  // One copy for all events: a long chat is read in thousands.
  let turns: Turn[] | null = null;
  for (const event of events) {
    if (event.id <= lastId) continue;
    lastId = event.id;
    if (event.kind === "session.updated.v1") continue;
    turns ??= [...conversation.turns];
    // The event is nearly always of the last turn, so look from the end.
    let index = turns.length - 1;
    while (index >= 0 && turns[index]?.id !== event.turn_id) index -= 1;
    const changed = applyToTurn(turns[index] ?? emptyTurn(event.turn_id, event.at), event);
    if (index < 0) turns.push(changed);
    else turns[index] = changed;
  }
  if (lastId === conversation.lastId) return conversation;
  return { lastId, turns: turns ?? conversation.turns };
}

export function apply(conversation: Conversation, event: TurnEvent): Conversation {
  return reduce(conversation, [event]);
}

function emptyTurn(id: string, startedAt: string): Turn {
  return {
    id,
    startedAt,
    user: null,
    model: null,
    phase: "waiting",
    round: 0,
    parts: [],
    calls: {},
    outcome: null,
    reason: null,
    usage: null,
    durationMs: null,
  };
}

function applyToTurn(turn: Turn, event: TurnEvent): Turn {
  switch (event.kind) {
    case "chat.user-message.v1": {
      const { message_id, text, user_id, user_name } = event.payload;
      return { ...turn, user: { messageId: message_id, text, userId: user_id, userName: user_name } };
    }
    case "chat.turn-started.v1":
      return { ...turn, model: event.payload.model, phase: turn.phase === "waiting" ? "model" : turn.phase };
    case "chat.phase.v1":
      return { ...turn, phase: event.payload.phase, round: event.payload.round };
    case "chat.text-delta.v1":
      return appendText(turn, event.payload.message_id, event.payload.text, "");
    case "chat.reasoning-delta.v1":
      return appendText(turn, event.payload.message_id, "", event.payload.text);
    case "chat.message.v1":
      return completeMessage(turn, event.payload.message_id, event.payload.text);
    case "attempt.superseded.v1": {
      const { message_id } = event.payload;
      return { ...turn, parts: turn.parts.filter((part) => part.kind !== "text" || part.messageId !== message_id) };
    }
    case "chat.tool-call.v1": {
      const { payload } = event;
      // A resumed turn may announce a call again; its place stays.
      if (turn.calls[payload.call_id]) return turn;
      const call: ChatCall = {
        id: payload.call_id,
        turnId: turn.id,
        tool: payload.tool,
        scope: payload.scope,
        class: payload.class,
        edgeId: payload.edge_id ?? null,
        edgeName: payload.edge_name ?? null,
        args: payload.args,
        parentId: payload.parent_call_id ?? null,
        round: turn.round,
        startedAt: event.at,
        state: "running",
        progress: null,
        error: null,
        errorKind: null,
        preview: null,
        result: undefined,
        resultBytes: null,
        durationMs: null,
        sandbox: null,
        approval: null,
      };
      return {
        ...turn,
        calls: { ...turn.calls, [call.id]: call },
        // A child is drawn inside of its parent.
        parts: call.parentId ? turn.parts : [...turn.parts, { kind: "call", callId: call.id }],
      };
    }
    case "chat.tool-progress.v1": {
      const call = turn.calls[event.payload.call_id];
      if (call?.state !== "running") return turn;
      return { ...turn, calls: { ...turn.calls, [call.id]: { ...call, progress: event.payload.line } } };
    }
    case "chat.tool-result.v1": {
      const { payload } = event;
      const call = turn.calls[payload.call_id];
      if (!call) return turn;
      const finished: ChatCall = {
        ...call,
        state: payload.state,
        progress: null,
        error: payload.error ?? null,
        errorKind: payload.error_kind ?? null,
        preview: payload.preview ?? null,
        result: payload.result,
        resultBytes: payload.result_bytes ?? null,
        durationMs: payload.duration_ms ?? null,
        sandbox: payload.sandbox ?? null,
      };
      return { ...turn, calls: { ...turn.calls, [call.id]: finished } };
    }
    case "chat.approval.v1": {
      const { payload } = event;
      const call = turn.calls[payload.call_id];
      if (!call) return turn;
      const asksAgain = payload.state === "pending" && call.approval?.id === payload.approval_id;
      // After a restart the manager may ask again what is decided already.
      if (asksAgain && call.approval?.state !== "pending") return turn;
      const waited: ChatCall = {
        ...call,
        approval: { id: payload.approval_id, state: payload.state },
        // A result that came first has the last word.
        state: ENDED.has(call.state) ? call.state : STATE_AFTER[payload.state],
        // Waiting is no part of how long it ran.
        startedAt: payload.state === "approved" ? event.at : call.startedAt,
      };
      return { ...turn, calls: { ...turn.calls, [call.id]: waited } };
    }
    case "chat.notice.v1":
      return { ...turn, parts: [...turn.parts, { kind: "notice", id: event.id, text: event.payload.text }] };
    case "chat.turn-finished.v1": {
      const { outcome, reason, usage, duration_ms } = event.payload;
      return {
        ...turn,
        phase: "done",
        outcome,
        reason: reason ?? null,
        usage: usage ?? null,
        durationMs: duration_ms ?? null,
      };
    }
    case "session.updated.v1":
      return turn;
    default:
      // A kind that this console doesn't know, from a newer manager.
      return turn;
  }
}

function appendText(turn: Turn, messageId: string, text: string, reasoning: string): Turn {
  const parts = [...turn.parts];
  const index = parts.findIndex((part) => part.kind === "text" && part.messageId === messageId);
  const part = parts[index];
  if (part?.kind !== "text") {
    parts.push({ kind: "text", messageId, text, reasoning, complete: false });
  } else if (part.complete) {
    return turn;
  } else {
    parts[index] = { ...part, text: part.text + text, reasoning: part.reasoning + reasoning };
  }
  return { ...turn, parts };
}

function completeMessage(turn: Turn, messageId: string, text: string): Turn {
  const parts = [...turn.parts];
  const index = parts.findIndex((part) => part.kind === "text" && part.messageId === messageId);
  const part = parts[index];
  if (part?.kind === "text") {
    // Reasoning deltas stay off the durable record once the message is whole, so that a reload shows the same.
    if (text === "") parts.splice(index, 1);
    else parts[index] = { ...part, text, reasoning: "", complete: true };
  } else if (text !== "") {
    parts.push({ kind: "text", messageId, text, reasoning: "", complete: true });
  }
  return { ...turn, parts };
}

/** Calls that a call made, in the order in which they started. */
export function childrenOf(turn: Turn, callId: string): ChatCall[] {
  return Object.values(turn.calls).filter((call) => call.parentId === callId);
}

/** A call and all that it made, however deep, that were put to a person. */
export function askedOf(turn: Turn, call: ChatCall): ChatCall[] {
  const own = call.approval ? [call] : [];
  return [...own, ...childrenOf(turn, call.id).flatMap((child) => askedOf(turn, child))];
}

/** How many calls of a turn wait for a person. */
export function waitingIn(turn: Turn | undefined): number {
  if (!turn || turn.phase === "done") return 0;
  return Object.values(turn.calls).filter((call) => call.state === "awaiting_approval").length;
}

export function isRunning(turn: Turn | undefined): boolean {
  return turn !== undefined && turn.phase !== "done";
}
