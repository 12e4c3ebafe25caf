/** Approvals, grants and the freeze of the stand-in manager, with one of each kind to look at. */
import type { Approval, ClassReason, DecisionInput, Freeze, Grant, Person } from "../src/api/approvals";
import type { Call, Json } from "../src/api/types";
import { ago, calls, capabilities, hosts, makeCall, newId, sessions } from "./data";
import { announce } from "./turns";

export const approvals: Approval[] = [];
export const grants: Grant[] = [];
export const freeze: Freeze = { frozen: false, since: null, by: null, reason: null };

const ada: Person = { id: 1, name: "admin" };
const kim: Person = { id: 2, name: "kim" };

const SIGNS: [RegExp, string][] = [
  [/systemctl (restart|stop|start) \S+/, "changes the state of a service"],
  [/rm (-\w+ )*\S+/, "removes files"],
  [/>>? ?\S+/, "writes to a file"],
  [/\$\([^)]*\)/, "runs what another command prints"],
];

export function reasonsOf(args: Json): ClassReason[] {
  const command = (args as { command?: string }).command;
  if (typeof command !== "string") return [];
  const found = SIGNS.flatMap(([sign, text]) => {
    const match = sign.exec(command);
    if (!match) return [];
    return [{ text, start: match.index, end: match.index + match[0].length }];
  });
  return found.length > 0
    ? found
    : [{ text: "a program that this version doesn't know", start: 0, end: command.length }];
}

export function grantFor(call: Call): Grant | undefined {
  return grants.find(
    (each) =>
      each.state === "active" &&
      each.tool === call.tool &&
      (each.session_id ?? call.session_id) === call.session_id &&
      (each.edge_id ?? call.edge_id) === call.edge_id &&
      !each.labels &&
      (!each.args || JSON.stringify(each.args) === JSON.stringify(call.args)),
  );
}

const waiting = new Map<string, (approval: Approval) => void>();

export function askFor(call: Call, more: Partial<Approval> = {}, seconds = 120): Approval {
  const host = hosts.find((each) => each.id === call.edge_id);
  const definition = capabilities.find((each) => each.key === call.tool && each.scope === call.scope);
  const args = call.args;
  call.state = "awaiting_approval";
  call.class = more.class ?? "mutating";
  const approval: Approval = {
    id: newId(),
    call_id: call.id,
    session_id: call.session_id ?? null,
    session_title: sessions.find((each) => each.id === call.session_id)?.title ?? null,
    turn_id: call.turn_id ?? null,
    parent_call_id: call.parent_call_id ?? null,
    tool: call.tool,
    tool_name: definition?.name ?? call.tool,
    scope: call.scope,
    class: "mutating",
    edge_id: call.edge_id ?? null,
    edge_name: host?.name ?? null,
    edge_labels: host?.labels ?? {},
    args,
    has_hidden: false,
    reasons: reasonsOf(args),
    why: "calls of class mutating need one approval (security.tool_policy.default = class)",
    grant_note: null,
    definition_hash: "5d".repeat(32),
    binding: "b1".repeat(32),
    requested_by: ada,
    by_model: call.caller.user_id === 0,
    origin: call.origin,
    token_name: null,
    state: "pending",
    created_at: new Date().toISOString(),
    decide_by: new Date(Date.now() + seconds * 1000).toISOString(),
    decided_at: null,
    decided_by: null,
    decision: null,
    note: null,
    valid_until: null,
    call_state: "awaiting_approval",
    may_decide: true,
    may_not_because: null,
    may_always: true,
    args_scope_fixed: call.tool === "bash",
    ...more,
  };
  approvals.unshift(approval);
  call.approval_id = approval.id;
  setTimeout(() => settle(approval, { state: "expired", call_state: "expired" }), seconds * 1000).unref();
  tell(approval);
  return approval;
}

/** Waits until somebody decides or the time is over. */
export function decided(approval: Approval): Promise<Approval> {
  if (approval.state !== "pending") return Promise.resolve(approval);
  return new Promise((resolve) => waiting.set(approval.id, resolve));
}

export function tell(approval: Approval): void {
  announce("approval.changed.v1", { approval_id: approval.id, call_id: approval.call_id, state: approval.state });
  announce("calls.changed.v1", { call_id: approval.call_id, state: approval.call_state });
}

export function settle(approval: Approval, change: Partial<Approval>): void {
  if (approval.state !== "pending") return;
  Object.assign(approval, { decided_at: new Date().toISOString() }, change);
  const call = calls.find((each) => each.id === approval.call_id);
  if (call) call.state = approval.call_state;
  tell(approval);
  waiting.get(approval.id)?.(approval);
  waiting.delete(approval.id);
}

export function decide(approval: Approval, input: DecisionInput, by: Person = ada): void {
  const allowed = input.decision !== "deny";
  settle(approval, {
    state: allowed ? "approved" : "denied",
    call_state: allowed ? "running" : "denied",
    decision: input.decision,
    decided_by: by,
    note: input.note ?? null,
    valid_until: allowed ? new Date(Date.now() + 600_000).toISOString() : null,
  });
  if (input.decision !== "allow_chat" && input.decision !== "allow_always") return;
  const { grant } = input;
  const chat = input.decision === "allow_chat";
  const here = chat || grant?.edges === "this";
  grants.unshift({
    id: newId(),
    tool: approval.tool,
    scope: approval.scope,
    person: approval.requested_by,
    session_id: chat ? approval.session_id : null,
    session_title: chat ? approval.session_title : null,
    edge_id: here ? approval.edge_id : null,
    edge_name: here ? approval.edge_name : null,
    labels: grant?.labels ?? null,
    args: approval.args_scope_fixed || grant?.arguments === "exact" ? approval.args : null,
    created_at: new Date().toISOString(),
    created_by: by,
    expires_at: chat ? null : new Date(Date.now() + (grant?.expires_in_hours ?? 720) * 3_600_000).toISOString(),
    uses: 0,
    uses_left: grant?.uses ?? null,
    last_used_at: null,
    state: "active",
  });
}

interface Seed {
  tool: string;
  edge: number;
  args: Json;
  call?: Partial<Call>;
  more?: Partial<Approval>;
  seconds?: number;
}

const pending: Seed[] = [
  {
    tool: "restart_service",
    edge: 2,
    args: { service: "postgresql.service", reason: "out of connections", action: "restart" },
    more: {
      requested_by: kim,
      may_decide: false,
      may_not_because: "it is your own call and your token asked for it; an approver decides in the inbox",
      token_name: "ci",
      by_model: false,
    },
    seconds: 3_000,
  },
  {
    tool: "write_file",
    edge: 2,
    args: {
      path: "/etc/pgbouncer/userlist.txt",
      mode: "0640",
      content: '"app" "«hidden: password»"\n"report" "«hidden: password»"\n',
      backup: true,
      options: { owner: "postgres", groups: ["postgres", "ssl-cert"], replace: null },
    },
    more: {
      has_hidden: true,
      requested_by: kim,
      by_model: true,
      grant_note:
        "a standing grant fits, but this turn has taken in content from outside, in which case grants don't count",
    },
    seconds: 86_400,
  },
  {
    tool: "bash",
    edge: 1,
    args: {
      command:
        "cd /srv/shop && rm -rf cache/grün/* && systemctl restart shop.service\necho done \u202e>> /var/log/deploy.log",
      timeout_s: 120,
    },
    call: { origin: "chat" },
    more: { by_model: true },
    seconds: 1_500,
  },
];

const done: [string, number, Json, Partial<Approval>, number][] = [
  [
    "restart_service",
    1,
    { service: "nginx.service", reason: "crash loop" },
    { state: "approved", decision: "allow_once", decided_by: ada, call_state: "succeeded" },
    700,
  ],
  [
    "bash",
    2,
    { command: "rm -rf /var/lib/postgresql/15/main/pg_wal/archive" },
    {
      state: "denied",
      decision: "deny",
      decided_by: kim,
      note: "Not while the replica catches up. Look at its lag first.",
      call_state: "denied",
    },
    4_000,
  ],
  [
    "restart_service",
    1,
    { service: "shop.service", reason: "new release" },
    { state: "approved", decision: "allow_always", decided_by: ada, call_state: "succeeded" },
    9_000,
  ],
  ["bash", 1, { command: "echo ok > /tmp/probe" }, { state: "expired", call_state: "expired" }, 40_000],
  ["write_file", 2, { path: "/etc/motd", content: "db-1\n" }, { state: "withdrawn", call_state: "cancelled" }, 90_000],
];

export function seedApprovals(): void {
  const chat = sessions[1];
  for (const [index, [tool, edge, args, change, seconds]] of done.entries()) {
    const call = makeCall({ tool, edge_id: edge, args, state: "running", started_at: ago(seconds), origin: "api" });
    calls.push(call);
    const approval = askFor(call, { by_model: index % 2 === 0, requested_by: index % 2 ? kim : ada }, 86_400);
    approval.created_at = ago(seconds);
    settle(approval, { decided_at: ago(seconds - 20), ...change });
  }
  for (const seed of pending) {
    const call = makeCall({
      tool: seed.tool,
      edge_id: seed.edge,
      args: seed.args,
      state: "running",
      origin: "api",
      ...seed.call,
    });
    if (seed.call?.origin === "chat") call.session_id = chat?.id;
    calls.unshift(call);
    askFor(call, seed.more, seed.seconds);
  }
  calls.sort((a, b) => b.started_at.localeCompare(a.started_at));
  approvals.sort((a, b) => b.created_at.localeCompare(a.created_at));
  const grant: Grant = {
    id: newId(),
    tool: "restart_service",
    scope: "host",
    person: ada,
    session_id: null,
    session_title: null,
    edge_id: null,
    edge_name: null,
    labels: { role: "web" },
    args: null,
    created_at: ago(200_000),
    created_by: ada,
    expires_at: ago(-2_000_000),
    uses: 4,
    uses_left: 6,
    last_used_at: ago(9_000),
    state: "active",
  };
  grants.push(
    grant,
    {
      ...grant,
      id: newId(),
      tool: "bash",
      labels: null,
      edge_id: 1,
      edge_name: "web-1",
      session_id: chat?.id,
      session_title: chat?.title,
      args: { command: "systemctl reload nginx" },
      expires_at: null,
      uses: 1,
      uses_left: null,
      last_used_at: ago(500),
    },
    {
      ...grant,
      id: newId(),
      tool: "write_file",
      person: kim,
      labels: null,
      uses: 0,
      last_used_at: null,
      state: "void",
    },
  );
}
