/** The words of the API. */

export type Role = "viewer" | "operator" | "approver" | "admin";
export type CapabilityClass = "safe" | "mutating" | "dangerous";
export type Scope = "host" | "manager";
export type CallState =
  | "invalid"
  | "refused"
  | "awaiting_approval"
  | "denied"
  | "expired"
  | "queued"
  | "running"
  | "succeeded"
  | "failed"
  | "timed_out"
  | "cancelled"
  | "unknown";
export type Origin = "chat" | "api" | "schedule" | "agent" | "mcp" | "cli" | "local";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail?: string;
  instance?: string;
  request_id?: string;
  errors?: { at: string; message: string }[];
}

export interface User {
  id: number;
  name: string;
  display_name?: string | null;
  roles: Role[];
  must_change_password?: boolean;
  disabled?: boolean;
  created_at?: string;
}

export type AccessMode = "off" | "admins" | "all-users";
export interface Access {
  mode: AccessMode;
  pinned: boolean;
  may_chat: boolean;
}

export interface Me {
  user: User;
  csrf_token: string;
  access: Access;
  version: string;
}

export type HostState = "online" | "offline" | "quarantined" | "revoked" | "never_seen";
export interface HostLoad {
  load1?: number | null;
  cpu_percent?: number | null;
  memory_percent?: number | null;
  disk_percent?: number | null;
}
export interface Host {
  id: number;
  name: string;
  hostname?: string | null;
  labels: Record<string, string>;
  state: HostState;
  state_reason?: string | null;
  os?: string | null;
  kernel?: string | null;
  arch?: string | null;
  version?: string | null;
  systemd?: boolean | null;
  journal?: boolean | null;
  load?: HostLoad | null;
  connected_at?: string | null;
  last_seen_at?: string | null;
  created_at: string;
}
export interface HostSkill {
  key: string;
  class: CapabilityClass;
  unmet: string[];
  source: string;
}
export interface HostDetail extends Host {
  skills: HostSkill[];
  notes: string[];
  certificate?: { serial: string; not_after: string } | null;
  instance?: string | null;
  boot_id?: string | null;
  address?: string | null;
  /** While quarantined: those that claim to be it. */
  instances?: string[];
}

export interface EnrollmentToken {
  id: number;
  state: "open" | "used" | "expired" | "revoked";
  labels?: Record<string, string>;
  edge_id?: number | null;
  created_at?: string;
  expires_at: string;
}
export interface NewEnrollmentToken {
  id: number;
  token: string;
  command: string;
  ca_pin: string;
  expires_at: string;
}

export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: Json[];
  const?: Json;
  default?: Json;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

export interface CapabilityHost {
  edge_id: number;
  name: string;
  online: boolean;
  unmet: string[];
}
export interface Capability {
  key: string;
  name: string;
  description: string;
  class: CapabilityClass;
  scope: Scope;
  category: string;
  params: JsonSchema;
  result_preview: string;
  prerequisites: string[];
  source: string;
  hash: string;
  batch: boolean;
  hosts: CapabilityHost[];
  refused_reason?: string | null;
}

export interface Call {
  id: string;
  tool: string;
  class: CapabilityClass;
  scope: Scope;
  state: CallState;
  edge_id?: number | null;
  edge_name?: string | null;
  args: Json;
  args_digest?: string | null;
  result?: Json;
  result_bytes?: number | null;
  result_preview?: string | null;
  error?: string | null;
  error_kind?: string | null;
  started_at: string;
  finished_at?: string | null;
  duration_ms?: number | null;
  caller: { user_id: number; name: string; role: string };
  on_behalf_of?: { user_id: number; name: string } | null;
  origin: Origin;
  session_id?: string | null;
  turn_id?: string | null;
  parent_call_id?: string | null;
  policy_decision?: string | null;
  sandbox?: string | null;
  definition_hash?: string | null;
  schema?: JsonSchema | null;
}
export interface AuditRow {
  seq: number;
  at: string;
  kind: string;
  call_id?: string | null;
  actor?: Json;
  payload: Json;
  row_hash: string;
}
export interface CallDetail extends Call {
  audit: AuditRow[];
  children: Call[];
}
/** A piece of a stored result's JSON text, in bytes. */
export interface ResultWindow {
  offset: number;
  text: string;
  total_bytes: number;
  next_offset?: number | null;
}
export interface RunCall {
  tool: string;
  scope?: Scope;
  edge_id?: number;
  args: JsonObject;
  timeout_seconds?: number;
}
export interface DensityBucket {
  from: string;
  count: number;
  failed: number;
}
export interface ChainProof {
  ok: boolean;
  rows: number;
  through_seq: number;
  problem?: string | null;
}

export interface Session {
  id: string;
  title: string;
  pinned: boolean;
  archived: boolean;
  model?: string | null;
  owner_id: number;
  created_at: string;
  updated_at: string;
  running_turn_id?: string | null;
}

export type ModelKind = "builtin" | "openai_chat" | "anthropic";
export interface Model {
  name: string;
  kind: ModelKind;
  base_url?: string | null;
  model: string;
  has_key: boolean;
  source: "builtin" | "config" | "environment" | "database";
  default: boolean;
}
export interface ModelInput {
  name: string;
  kind: ModelKind;
  base_url?: string;
  model: string;
  api_key?: string;
}
export interface ModelTest {
  ok: boolean;
  text?: string | null;
  tool_call?: boolean | null;
  latency_ms: number;
  usage?: { input_tokens: number; output_tokens: number } | null;
  error?: string | null;
}

export interface ApiToken {
  id: number;
  name: string;
  scopes: string[];
  hint?: string | null;
  created_at?: string;
  expires_at?: string | null;
  last_used_at?: string | null;
  token?: string;
}

export interface About {
  version: string;
  features: Json;
  licences: Json;
}
