/** What the stand-in manager holds at start. Times are relative to its start, so that pages look lived in. */
import type {
  Call,
  Capability,
  CapabilityClass,
  HostDetail,
  Json,
  JsonSchema,
  Model,
  Session,
  User,
} from "../src/api/types";

const started = Date.now();
export const ago = (seconds: number): string => new Date(started - seconds * 1000).toISOString();

let lastId = 0;
export function newId(): string {
  lastId += 1;
  return `0197a4c2-${(lastId >> 16).toString(16).padStart(4, "0")}-7${(lastId & 0xfff).toString(16).padStart(3, "0")}-8a00-5d3f00000000`;
}

const hex = (seed: number): string => (seed * 2654435761).toString(16).padStart(8, "0").slice(0, 8).repeat(8);

function object(properties: Record<string, JsonSchema>, required: string[] = []): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

const text = (description: string, more: JsonSchema = {}): JsonSchema => ({ type: "string", description, ...more });
const whole = (description: string, minimum: number, maximum: number, fallback?: number): JsonSchema => ({
  type: "integer",
  description,
  minimum,
  maximum,
  default: fallback,
});

interface Draft {
  key: string;
  name: string;
  description: string;
  category: string;
  params: JsonSchema;
  class?: CapabilityClass;
  scope?: "host" | "manager";
  preview?: string;
  needs?: string[];
  /** The parameter that decides the class. */
  classedBy?: string;
}

const drafts: Draft[] = [
  {
    key: "host_load",
    name: "Host load",
    category: "host",
    description: "Measures CPU, load, memory, swap, pressure, disks and network of a host.",
    params: object({}),
    preview: "load 0.42, memory 38 %",
  },
  {
    key: "host_load",
    scope: "manager",
    name: "Host load of several hosts",
    category: "host",
    description: "Measures the load of up to 16 hosts at once.",
    params: object(
      {
        edge_ids: {
          type: "array",
          description: "Hosts to measure.",
          items: { type: "integer" },
          minItems: 1,
          maxItems: 16,
        },
      },
      ["edge_ids"],
    ),
    preview: "3 of 3 hosts answered",
  },
  {
    key: "host_processes",
    name: "Processes",
    category: "host",
    description: "Lists the processes that use most of a host.",
    params: object({
      top_n: whole("How many processes to return.", 1, 200, 20),
      sort_by: {
        oneOf: [{ const: "cpu" }, { const: "mem" }, { const: "io" }, { const: "fds" }],
        description: "What to sort by.",
        default: "cpu",
      },
      name: { type: ["string", "null"], description: "Only processes whose command contains this." },
    }),
    preview: "postgres 41 % CPU",
  },
  {
    key: "probe_tcp",
    name: "TCP probe",
    category: "network",
    description: "Connects to a TCP port from the host and reports how long it took.",
    params: object(
      {
        target: text("Host and port, for example `db.internal:5432`.", { minLength: 3, maxLength: 300 }),
        count: whole("How many attempts.", 1, 10, 1),
        timeout_ms: whole("How long to wait for one attempt, in milliseconds.", 1, 30000, 3000),
      },
      ["target"],
    ),
    preview: "open, 0.4 ms",
  },
  {
    key: "probe_http",
    classedBy: "method",
    name: "HTTP probe",
    category: "network",
    description: "Requests a URL from the host and reports status, timings and the certificate.",
    params: object(
      {
        url: text("The URL.", { format: "uri" }),
        method: { enum: ["HEAD", "GET"], description: "The method.", default: "GET" },
        follow: whole("How many redirects to follow.", 0, 5, 0),
      },
      ["url"],
    ),
    preview: "200 OK in 34 ms",
  },
  {
    key: "tail_file",
    name: "End of a file",
    category: "files",
    description: "Reads the last lines of a file, across rotation.",
    params: object(
      {
        path: text("Absolute path of the file."),
        lines: whole("How many lines.", 1, 10000, 100),
        grep: { type: ["string", "null"], description: "Only lines that contain this." },
      },
      ["path"],
    ),
    preview: "100 lines",
  },
  {
    key: "read_journal",
    name: "Journal",
    category: "services",
    description: "Reads entries of the systemd journal.",
    params: object({
      unit: { type: ["string", "null"], description: "Only entries of this unit." },
      since: text("How far back, for example `10m`.", { default: "10m" }),
      priority: {
        anyOf: [{ enum: ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] }, { type: "null" }],
        description: "Only entries of this priority or worse.",
      },
      lines: whole("How many entries.", 1, 5000, 200),
    }),
    preview: "12 entries",
    needs: ["a systemd journal"],
  },
  {
    key: "service_status",
    name: "Service status",
    category: "services",
    description: "Reports the state of systemd units.",
    params: object({
      service: { type: ["string", "null"], description: "The unit." },
      failed_only: { type: "boolean", description: "Only failed units.", default: false },
    }),
    preview: "nginx.service failed",
    needs: ["a booted systemd"],
  },
  {
    key: "restart_service",
    name: "Restart a service",
    class: "mutating",
    category: "services",
    description: "Restarts, reloads, starts or stops a systemd unit and checks that it stays up.",
    params: object(
      {
        service: text("The unit."),
        reason: text("Why, for the audit.", { minLength: 1 }),
        action: { enum: ["restart", "reload", "start", "stop"], description: "What to do.", default: "restart" },
      },
      ["service", "reason"],
    ),
    preview: "active since 3 s",
    needs: ["a booted systemd"],
  },
  {
    key: "bash",
    classedBy: "command",
    name: "Command",
    category: "host",
    description: "Runs a bash command. What it does decides its class.",
    params: object(
      {
        command: text("The command.", { minLength: 1 }),
        timeout_s: whole("How long it may run, in seconds.", 1, 3600, 60),
      },
      ["command"],
    ),
    preview: "exit 0",
  },
  {
    key: "write_file",
    class: "mutating",
    name: "Write a file",
    category: "files",
    description: "Writes a file, atomically and with a backup.",
    params: object({ path: text("Absolute path of the file."), content: text("What it holds afterwards.") }, [
      "path",
      "content",
    ]),
    preview: "612 bytes written",
  },
  {
    key: "reboot_host",
    name: "Reboot the host",
    class: "dangerous",
    category: "host",
    description: "Reboots the host.",
    params: object(
      { reason: text("Why, for the audit.", { minLength: 1 }), delay_seconds: whole("How long to wait.", 0, 3600, 5) },
      ["reason"],
    ),
    preview: "reboots in 5 s",
  },
  {
    key: "query_edges",
    scope: "manager",
    name: "Hosts",
    category: "fleet",
    description: "Finds hosts by name, label, state and operating system.",
    params: object({
      q: { type: ["string", "null"], description: "Words in the name." },
      state: { anyOf: [{ enum: ["online", "offline"] }, { type: "null" }], description: "Only hosts in this state." },
    }),
    preview: "3 hosts, 2 online",
  },
  {
    key: "read_result",
    scope: "manager",
    name: "Stored result",
    category: "fleet",
    description: "Pages through a stored result.",
    params: object(
      { call_id: text("The call.", { format: "uuid" }), offset: whole("From where, in bytes.", 0, 1e9, 0) },
      ["call_id"],
    ),
    preview: "64 KiB of 2 MiB",
  },
];

const refusals: Record<string, string> = {
  dangerous: "needs a signed procedure and two approvals; signed procedures are not available yet",
};

export const hosts: HostDetail[] = [
  {
    read_only: false,
    frozen: false,
    id: 1,
    name: "web-1",
    hostname: "web-1.fra.example",
    labels: { role: "web", site: "fra" },
    state: "online",
    os: "Debian GNU/Linux 12 (bookworm)",
    kernel: "6.1.0-26-amd64",
    arch: "x86_64",
    version: "0.1.0",
    systemd: true,
    journal: true,
    load: { load1: 0.42, cpu_percent: 11.8, memory_percent: 38.2, disk_percent: 61.4 },
    connected_at: ago(7200),
    last_seen_at: ago(2),
    created_at: ago(864000),
    skills: [],
    notes: [],
    certificate: { serial: "3fa2c417e09b", not_after: ago(-64000) },
    instance: "b81c0e12",
    boot_id: "5d0c1a7e-6f0b-4bd2-a8a1-90ab12cd34ef",
    address: "10.0.4.17:51234",
  },
  {
    id: 2,
    name: "db-1",
    hostname: "db-1.fra.example",
    labels: { role: "db", site: "fra" },
    state: "online",
    read_only: true,
    frozen: false,
    os: "Debian GNU/Linux 12 (bookworm)",
    kernel: "6.1.0-26-amd64",
    arch: "x86_64",
    version: "0.1.0",
    systemd: true,
    journal: true,
    load: { load1: 3.91, cpu_percent: 71.3, memory_percent: 84.9, disk_percent: 88.1 },
    connected_at: ago(91000),
    last_seen_at: ago(4),
    created_at: ago(864000),
    skills: [],
    notes: ["The disk at /var is 88 % full."],
    certificate: { serial: "17c0ab55d210", not_after: ago(-31000) },
    instance: "0c77fe2a",
    boot_id: "97ab0c1d-0d8e-47aa-9c1e-1d2f3a4b5c6d",
    address: "10.0.4.21:50110",
  },
  {
    read_only: false,
    frozen: false,
    id: 3,
    name: "cache-2",
    hostname: "cache-2.ams.example",
    labels: { role: "cache", site: "ams" },
    state: "offline",
    os: "Alpine Linux 3.20",
    kernel: "6.6.49-0-virt",
    arch: "aarch64",
    version: "0.1.0",
    systemd: false,
    journal: false,
    load: null,
    connected_at: null,
    last_seen_at: ago(5400),
    created_at: ago(432000),
    skills: [],
    notes: ["No systemd: service skills are not offered here."],
    certificate: { serial: "8b1f3c99a002", not_after: ago(-12000) },
    instance: null,
    boot_id: null,
    address: null,
  },
  {
    read_only: false,
    frozen: false,
    id: 4,
    name: "build-7",
    hostname: "build-7",
    labels: {},
    state: "quarantined",
    state_reason: "Two machines answer with this identity (instances 1f7a and 9c22). It may have been cloned.",
    os: "Ubuntu 24.04.1 LTS",
    kernel: "6.8.0-45-generic",
    arch: "x86_64",
    version: "0.1.0",
    systemd: true,
    journal: true,
    load: null,
    connected_at: null,
    last_seen_at: ago(600),
    created_at: ago(90000),
    skills: [],
    notes: [],
    certificate: { serial: "f00d12ab3c4d", not_after: ago(-40000) },
    instances: ["1f7a0000", "9c22b1d0"],
    instance: "1f7a0000",
    boot_id: null,
    address: "10.0.9.3:40022",
  },
];

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
  refused_reason: refusals[draft.class ?? "safe"] ?? null,
}));

export const users: User[] = [
  {
    id: 1,
    name: "admin",
    kind: "person",
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
    args_digest: hex(lastId),
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
