/** Rows of `turn_events`: the single source of what a chat shows. The live stream and the replay bring the same. */
import type { ApprovalState, Decision } from "../api/approvals";
import type { CallState, CapabilityClass, Json, Scope } from "../api/types";

export interface ModelLabel {
  provider: string;
  model: string;
  builtin: boolean;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
}

export type Outcome = "answered" | "stopped" | "failed" | "limited" | "interrupted";

interface Payloads {
  "chat.user-message.v1": { message_id: string; text: string; user_id: number; user_name: string };
  "chat.turn-started.v1": { model: ModelLabel };
  "chat.phase.v1": { phase: "model" | "tools"; round: number };
  "chat.text-delta.v1": { message_id: string; text: string };
  "chat.reasoning-delta.v1": { message_id: string; text: string };
  "chat.message.v1": { message_id: string; text: string; calls: { call_id: string; tool: string }[] };
  "chat.tool-call.v1": {
    call_id: string;
    tool: string;
    /** Absent for a tool that nobody knows. */
    scope: Scope | null;
    class: CapabilityClass | null;
    edge_id?: number | null;
    edge_name?: string | null;
    args: Json;
    parent_call_id?: string | null;
  };
  /** The latest line of a call that runs, for people. Gone from the replay when the call has ended. */
  "chat.tool-progress.v1": { call_id: string; line: string };
  "chat.tool-result.v1": {
    call_id: string;
    state: CallState;
    error?: string | null;
    error_kind?: string | null;
    preview?: string | null;
    result?: Json;
    result_bytes?: number | null;
    duration_ms?: number | null;
    sandbox?: string | null;
  };
  "chat.approval.v1": {
    approval_id: string;
    call_id: string;
    state: ApprovalState;
    decision?: Decision | null;
    decided_by_name?: string | null;
    note?: string | null;
    decide_by?: string | null;
  };
  "attempt.superseded.v1": { message_id: string };
  "chat.notice.v1": { text: string };
  "chat.turn-finished.v1": {
    outcome: Outcome;
    reason?: string | null;
    usage?: Usage | null;
    duration_ms?: number | null;
  };
  "session.updated.v1": { title: string; pinned: boolean; archived: boolean; model?: string | null };
}

export type TurnEventKind = keyof Payloads;

export type TurnEvent = {
  [K in TurnEventKind]: {
    id: number;
    session_id: string;
    turn_id: string;
    seq: number;
    kind: K;
    at: string;
    payload: Payloads[K];
  };
}[TurnEventKind];
