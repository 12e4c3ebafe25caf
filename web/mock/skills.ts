/** The skills of the stand-in, as their authors wrote them. */
import type { CapabilityClass, JsonSchema } from "../src/api/types";

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

export interface Draft {
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

export const drafts: Draft[] = [
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
