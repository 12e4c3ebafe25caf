/** Approvals, standing grants, the freeze and the policy's answer, as the API has them. */
import type { CallState, CapabilityClass, Json, Origin, Scope } from "./types";

export type ApprovalState = "pending" | "approved" | "denied" | "expired" | "withdrawn";
export type Decision = "allow_once" | "allow_chat" | "allow_always" | "deny" | "grant";

export interface Person {
  id: number;
  name: string;
}

/** Why a call has its class. For a command with the part that it is about, in UTF-16 code units. */
export interface ClassReason {
  text: string;
  start?: number | null;
  end?: number | null;
}

export interface Approval {
  id: string;
  call_id: string;
  session_id?: string | null;
  session_title?: string | null;
  turn_id?: string | null;
  parent_call_id?: string | null;
  tool: string;
  tool_name: string;
  scope: Scope;
  class: CapabilityClass;
  edge_id?: number | null;
  edge_name?: string | null;
  edge_labels?: Record<string, string> | null;
  /** Whole; secrets in them are hidden. */
  args: Json;
  /** Whether something is hidden in `args`. */
  has_hidden: boolean;
  reasons: ClassReason[];
  /** Why a person is asked. */
  why: string;
  /** Why a standing grant that fits wasn't used. */
  grant_note?: string | null;
  definition_hash: string;
  binding: string;
  requested_by: Person;
  by_model: boolean;
  origin: Origin;
  token_name?: string | null;
  state: ApprovalState;
  created_at: string;
  decide_by: string;
  decided_at?: string | null;
  decided_by?: Person | null;
  decision?: Decision | null;
  note?: string | null;
  valid_until?: string | null;
  call_state: CallState;
  may_decide: boolean;
  may_not_because?: string | null;
  may_always: boolean;
  /** Whether a grant for it always means these very arguments. */
  args_scope_fixed: boolean;
}

export interface GrantWish {
  edges: "this" | "labels" | "any";
  labels?: Record<string, string>;
  arguments: "exact" | "any";
  expires_in_hours?: number;
  uses?: number;
}

export interface DecisionInput {
  decision: Exclude<Decision, "grant">;
  note?: string;
  grant?: GrantWish;
}

export interface Grant {
  id: string;
  tool: string;
  scope: Scope;
  person: Person;
  session_id?: string | null;
  session_title?: string | null;
  edge_id?: number | null;
  edge_name?: string | null;
  labels?: Record<string, string> | null;
  args?: Json;
  created_at: string;
  created_by: Person;
  expires_at?: string | null;
  uses: number;
  uses_left?: number | null;
  last_used_at?: string | null;
  state: "active" | "expired" | "used_up" | "revoked" | "void";
}

export interface Freeze {
  frozen: boolean;
  since?: string | null;
  by?: Person | null;
  reason?: string | null;
}

/** What the gate would do with a call, and which rule says so. */
export interface Explanation {
  decision: "run" | "ask" | "deny" | "invalid";
  class: CapabilityClass;
  class_reasons: ClassReason[];
  rule: string;
  reason: string;
  approval?: { who: string; grant_id?: string | null } | null;
}
