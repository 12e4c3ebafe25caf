/** What the stand-in manager holds at start. */
import type { Call, Capability, HostDetail, Json, Model, Session, User } from "../src/api/types";
import { ago, hex, newId } from "./base";
import { hosts } from "./hosts";
import { type Draft, drafts } from "./skills";

export { ago, newId } from "./base";
export { hosts } from "./hosts";

function unmetOn(draft: Draft, host: HostDetail): string[] {
  return host.systemd ? [] : (draft.needs ?? []).map((need) => `${host.name} has not: ${need}`);
}

for (const host of hosts) {
  host.skills = drafts
    .filter((draft) => draft.scope !== "manager")
    .map((draft) => ({ key: draft.key, class: draft.class ?? "safe", unmet: unmetOn(draft, host), source: "builtin" }));
}

export const capabilities: Capability[] = drafts.map((draft, index) => ({
  key: draft.key,
  name: draft.name,
  description: draft.description,
  class: draft.class ?? "safe",
  scope: draft.scope ?? "host",
  category: draft.category,
  params: draft.params,
  result_preview: draft.preview ?? "",
  prerequisites: draft.needs ?? [],
  source: "builtin",
  hash: hex(index + 7),
  batch: draft.key === "host_load" && draft.scope === "manager",
  hosts:
    draft.scope === "manager"
      ? []
      : hosts.map((host) => ({
          edge_id: host.id,
          name: host.name,
          online: host.state === "online",
          unmet: unmetOn(draft, host),
        })),
  classed_by: draft.classedBy ?? null,
  refused_reason: null,
}));

export const users: User[] = [
  {
    id: 1,
    name: "admin",
    kind: "person",
    hosts: {},
    disabled: false,
    display_name: "Ada Park",
    roles: ["admin", "operator"],
    must_change_password: true,
    created_at: ago(900000),
  },
  {
    id: 2,
    name: "kim",
    kind: "person",
    hosts: {},
    disabled: false,
    must_change_password: false,
    display_name: "Minji Kim",
    roles: ["operator"],
    created_at: ago(500000),
  },
  {
    id: 3,
    name: "auditor",
    kind: "person",
    hosts: {},
    must_change_password: false,
    display_name: "",
    roles: ["viewer", "approver"],
    created_at: ago(400000),
    disabled: true,
  },
];

export const models: Model[] = [
  { name: "builtin", kind: "builtin", model: "router", has_key: false, source: "builtin", default: true },
  {
    name: "claude",
    kind: "anthropic",
    base_url: "https://api.anthropic.com",
    model: "claude-sonnet-4-5",
    has_key: true,
    source: "environment",
    default: false,
  },
  {
    name: "ollama",
    kind: "openai_chat",
    base_url: "http://127.0.0.1:11434/v1",
    model: "qwen3:8b",
    has_key: false,
    source: "database",
    default: false,
  },
];

export const sessions: Session[] = [];
export const calls: Call[] = [];

export function loadResult(host: HostDetail): Json {
  return {
    host: host.name,
    load: { one: host.load?.load1 ?? 0, five: 0.51, fifteen: 0.48 },
    cpu: { percent: host.load?.cpu_percent ?? 0, cores: 4, per_core_percent: [9.1, 14.2, 11.7, 12.2] },
    memory: {
      total_bytes: 8_253_112_320,
      used_bytes: 3_152_004_096,
      available_bytes: 5_101_108_224,
      used_percent: host.load?.memory_percent ?? 0,
    },
    filesystems: [
      { mount: "/", device: "/dev/vda1", total_bytes: 42_949_672_960, used_bytes: 26_371_099_197, used_percent: 61.4 },
      {
        mount: "/var",
        device: "/dev/vdb",
        total_bytes: 107_374_182_400,
        used_bytes: 48_318_382_080,
        used_percent: 45.0,
      },
    ],
    uptime_seconds: 912_345,
  };
}

export function makeCall(call: Partial<Call> & Pick<Call, "tool" | "state">): Call {
  const definition = capabilities.find((each) => each.key === call.tool && each.scope === (call.scope ?? "host"));
  const host = hosts.find((each) => each.id === call.edge_id);
  return {
    id: newId(),
    class: definition?.class ?? "safe",
    scope: "host",
    edge_name: host?.name ?? null,
    args: {},
    args_digest: hex(calls.length + 1),
    result_bytes: 0,
    started_at: new Date().toISOString(),
    caller: { user_id: 1, name: "admin", role: "admin" },
    origin: "api",
    policy_decision: "allow",
    definition_hash: definition?.hash ?? "",
    ...call,
  };
}

const history: [string, number, number, Call["state"], Json][] = [
  ["host_load", 1, 400, "succeeded", {}],
  ["probe_tcp", 1, 900, "succeeded", { target: "db-1.fra.example:5432" }],
  ["probe_tcp", 2, 930, "failed", { target: "cache-2.ams.example:6379" }],
  ["service_status", 1, 3000, "succeeded", { service: "nginx.service" }],
  ["read_journal", 1, 3050, "succeeded", { unit: "nginx.service", since: "1h" }],
  ["restart_service", 1, 3100, "refused", { service: "nginx.service", reason: "crash loop" }],
  ["host_processes", 2, 9000, "succeeded", { sort_by: "mem", top_n: 10 }],
  ["tail_file", 2, 40000, "timed_out", { path: "/var/log/postgresql/postgresql-15-main.log" }],
  ["host_load", 3, 90000, "unknown", {}],
  ["host_processes", 1, 91000, "cancelled", { top_n: 50 }],
  ["probe_http", 1, 130000, "succeeded", { url: "https://status.example/healthz" }],
  ["probe_tcp", 1, 131000, "invalid", { target: "" }],
];
for (let round = 0; round < 12; round += 1) {
  for (const [tool, edge, seconds, state, args] of history) {
    const at = seconds + round * 47_000;
    const byModel = (edge + round) % 2 === 0;
    calls.push(
      makeCall({
        tool,
        edge_id: edge,
        state,
        args,
        started_at: ago(at),
        finished_at: ago(at - 1),
        duration_ms: state === "timed_out" ? 60_000 : 12 + ((at * 7) % 480),
        error:
          state === "failed"
            ? "connection refused by 10.0.7.2:6379"
            : state === "refused"
              ? "web-1 is read-only"
              : state === "timed_out"
                ? "no answer within 60 s"
                : state === "invalid"
                  ? "`target`: must not be empty"
                  : null,
        error_kind: state === "failed" ? "refused" : null,
        origin: byModel ? "chat" : round % 3 === 0 ? "cli" : "api",
        caller: byModel
          ? { user_id: 0, name: "system", role: "system" }
          : { user_id: 2, name: "kim", role: "operator" },
        on_behalf_of: byModel ? { user_id: 1, name: "admin" } : null,
        result:
          state === "succeeded" && tool === "host_load"
            ? loadResult(hosts[edge - 1] as HostDetail)
            : state === "succeeded"
              ? { ok: true, attempts: [{ address: "10.0.4.21", connect_ms: 0.41, error: null }] }
              : undefined,
        result_bytes: 612,
      }),
    );
  }
}
calls.sort((a, b) => b.started_at.localeCompare(a.started_at));
