/**
 * A stand-in for the manager, for developing pages without one: `npm run dev:mock`. It answers in the shapes of the
 * API and checks nothing. Name and password: `admin`, `first`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";
import type { Approval } from "../src/api/approvals";
import type { Call, EnrollmentToken, Me } from "../src/api/types";
import { approvals, askFor, decide, decided, freeze, grants, reasonsOf, seedApprovals, settle } from "./approvals";
import { ago, calls, capabilities, hosts, makeCall, models, newId, sessions, users } from "./data";
import { packs } from "./packs";
import { announce, events, listen, playTurn, stopTurn } from "./turns";

/** A body is taken as it comes: this stand-in checks nothing. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Body = any;

type Handler = (request: { params: string[]; query: URLSearchParams; body: Body }) => unknown;

let signedIn = process.env.MOCK_SIGNED_IN === "1";
let password = "first";
const admin = users[0];
if (signedIn && admin) admin.must_change_password = false;
let accessMode: Me["access"]["mode"] = "all-users";
const tokens: EnrollmentToken[] = [];
const apiTokens: object[] = [
  {
    id: 1,
    name: "ci",
    scopes: ["calls:run"],
    hint: "shp_7Qx",
    created_at: ago(90000),
    expires_at: ago(-900000),
    last_used_at: ago(1200),
  },
];

const me = (): Me => ({
  user: users[0] as Me["user"],
  csrf_token: "mock",
  access: { mode: accessMode, pinned: false, may_chat: accessMode !== "off" },
  version: "0.1.0",
});

class Failure extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    message: string,
    readonly more: object = {},
  ) {
    super(message);
  }
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Failure(404, "Not found", `There is no such ${what}.`);
  return value;
}

function filtered(query: URLSearchParams): Call[] {
  const is = (name: string, value: unknown) => !query.get(name) || query.get(name) === String(value ?? "");
  const from = query.get("from") ?? "";
  const to = query.get("to") ?? "9";
  return calls.filter(
    (call) =>
      is("tool", call.tool) &&
      is("class", call.class) &&
      is("state", call.state) &&
      is("edge", call.edge_id) &&
      is("origin", call.origin) &&
      is("session", call.session_id) &&
      (is("user", call.caller.user_id) || is("user", call.on_behalf_of?.user_id)) &&
      call.started_at >= from &&
      call.started_at < to &&
      JSON.stringify([call.tool, call.args, call.error]).includes(query.get("q") ?? ""),
  );
}

function decidePack(pin: string, state: "accepted" | "waiting") {
  const pack = found(
    packs.find((each) => each.pin === pin),
    "pack",
  );
  pack.state = state;
  return state === "accepted" ? pack : undefined;
}

async function runCall(body: Record<string, unknown>): Promise<Call> {
  const capability = found(
    capabilities.find((each) => each.key === body.tool && each.scope === (body.scope ?? "host")),
    "capability",
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  const call = makeCall({
    tool: capability.key,
    scope: capability.scope,
    edge_id: (body.edge_id as number) ?? null,
    args: body.args as Call["args"],
    state: capability.refused_reason ? "refused" : "succeeded",
    error: capability.refused_reason,
    finished_at: new Date().toISOString(),
    duration_ms: 41,
  });
  if (!capability.refused_reason) {
    call.result = {
      target: "localhost:22",
      attempts: [
        { attempt: 1, address: "127.0.0.1:22", connect_ms: 0.214, error: null },
        { attempt: 2, address: "127.0.0.1:22", connect_ms: 0.187, error: null },
      ],
    };
    call.result_bytes = JSON.stringify(call.result).length;
  }
  calls.unshift(call);
  const changes = capability.class === "mutating" || (capability.key === "bash" && reasonsOf(call.args).length > 0);
  if (changes) {
    const asked = decided(askFor(call)).then((approval) => {
      if (approval.state === "approved") call.state = "succeeded";
      else {
        call.error = approval.state === "denied" ? `denied by ${approval.decided_by?.name}` : "nobody decided in time";
        call.result = undefined;
      }
      announce("calls.changed.v1", { call_id: call.id, state: call.state });
    });
    if (body.wait !== false) await asked;
    return call;
  }
  announce("calls.changed.v1", { call_id: call.id, state: call.state });
  return call;
}

function approvalOf(id: string | undefined): Approval {
  return found(
    approvals.find((each) => each.id === id),
    "approval",
  );
}

function explain(body: Body) {
  const capability = found(
    capabilities.find((each) => each.key === body.tool && each.scope === (body.scope ?? "host")),
    "capability",
  );
  const reasons = reasonsOf(body.args);
  const mutating = capability.class === "mutating" || capability.key === "bash";
  const dangerous = capability.class === "dangerous";
  return {
    decision: dangerous ? "deny" : mutating ? "ask" : "run",
    class: dangerous ? "dangerous" : mutating ? "mutating" : "safe",
    class_reasons: reasons,
    rule: `security.tool_policy.groups.${capability.category} = class`,
    reason: dangerous
      ? "dangerous calls need a signed procedure and two approvals; signed procedures are not available yet"
      : mutating
        ? "calls of class mutating need one approval"
        : "calls of class safe run without asking",
    approval: mutating ? { who: "you, or an approver", grant_id: null } : null,
  };
}

function density(query: URLSearchParams) {
  const buckets = Number(query.get("buckets") ?? 60);
  const from = Date.parse(query.get("from") ?? ago(604800));
  const to = Date.parse(query.get("to") ?? new Date().toISOString());
  const size = (to - from) / buckets;
  const counted = Array.from({ length: buckets }, (_, index) => ({
    from: new Date(from + index * size).toISOString(),
    count: 0,
    failed: 0,
  }));
  for (const call of filtered(query)) {
    const bucket = counted[Math.floor((Date.parse(call.started_at) - from) / size)];
    if (!bucket) continue;
    bucket.count += 1;
    if (call.state !== "succeeded") bucket.failed += 1;
  }
  return counted;
}

function enrol(): object {
  const token: EnrollmentToken = {
    id: tokens.length + 1,
    state: "open",
    labels: {},
    edge_id: null,
    created_at: new Date().toISOString(),
    expires_at: ago(-3600),
  };
  tokens.unshift(token);
  setTimeout(() => {
    if (token.state !== "open") return;
    token.state = "used";
    token.edge_id = 1;
    announce("hosts.changed.v1", { edge_id: 1 });
  }, 6000);
  return {
    ...token,
    token: "she_9vJ2mQ",
    command:
      "steadyhand-edge enroll --manager https://ops.example:7443 --token she_9vJ2mQkX4w8nT1zR5bY7cD3fG6hJ9kL2 --ca-pin sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ca_pin: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  };
}

const page = (items: unknown[]) => ({ items, next_cursor: null });

const routes: [string, RegExp, Handler][] = [
  [
    "POST",
    /^\/sign-in$/,
    ({ body }) => {
      if (body.password !== password) throw new Failure(401, "Not signed in", "The name or the password is wrong.");
      signedIn = true;
      return me();
    },
  ],
  [
    "POST",
    /^\/sign-out$/,
    () => {
      signedIn = false;
    },
  ],
  ["GET", /^\/me$/, () => me()],
  [
    "POST",
    /^\/me\/password$/,
    ({ body }) => {
      password = body.new as string;
      if (admin) admin.must_change_password = false;
      return me();
    },
  ],
  ["GET", /^\/hosts$/, () => page(hosts)],
  [
    "GET",
    /^\/hosts\/(\d+)$/,
    ({ params }) =>
      found(
        hosts.find((host) => host.id === Number(params[0])),
        "host",
      ),
  ],
  [
    "PATCH",
    /^\/hosts\/(\d+)$/,
    ({ params, body }) =>
      Object.assign(
        found(
          hosts.find((host) => host.id === Number(params[0])),
          "host",
        ),
        body,
      ),
  ],
  ["POST", /^\/enrollment-tokens$/, () => enrol()],
  ["GET", /^\/enrollment-tokens$/, () => page(tokens)],
  [
    "GET",
    /^\/enrollment-tokens\/(.+)$/,
    ({ params }) =>
      found(
        tokens.find((token) => String(token.id) === params[0]),
        "token",
      ),
  ],
  [
    "DELETE",
    /^\/enrollment-tokens\/(.+)$/,
    ({ params }) => {
      found(
        tokens.find((token) => String(token.id) === params[0]),
        "token",
      ).state = "revoked";
    },
  ],
  ["GET", /^\/capabilities$/, () => page(capabilities)],
  ["GET", /^\/packs$/, () => page(packs)],
  ["POST", /^\/packs\/(.+)\/accept$/, ({ params }) => decidePack(params[0] ?? "", "accepted")],
  ["POST", /^\/packs\/(.+)\/revoke$/, ({ params }) => decidePack(params[0] ?? "", "waiting")],
  ["POST", /^\/calls$/, ({ body }) => runCall(body)],
  [
    "GET",
    /^\/calls$/,
    ({ query }) => {
      const all = filtered(query);
      const from = Number(query.get("cursor") ?? 0);
      const limit = Number(query.get("limit") ?? 100);
      return {
        items: all.slice(from, from + limit).map(({ result: _result, ...call }) => call),
        next_cursor: from + limit < all.length ? String(from + limit) : null,
      };
    },
  ],
  [
    "GET",
    /^\/calls\/([^/]+)$/,
    ({ params }) => {
      const call = found(
        calls.find((each) => each.id === params[0]),
        "call",
      );
      const row = (seq: number, kind: string, payload: object) => ({
        seq,
        at: call.started_at,
        kind,
        actor: { kind: "user", id: 1 },
        payload,
        row_hash: "5b1c0e9f3a".repeat(6),
      });
      return {
        ...call,
        audit: [
          row(120, "call.received", { tool: call.tool }),
          row(121, "call.admitted", { decision: "allow" }),
          ...approvals
            .filter((each) => each.call_id === call.id && each.state !== "pending")
            .map((each) => row(122, "approval.decided", { decision: each.decision, note: each.note })),
          row(123, "call.finished", { state: call.state }),
        ],
        children: [],
      };
    },
  ],
  ["GET", /^\/audit\/density$/, ({ query }) => density(query)],
  ["GET", /^\/audit\/verify$/, () => ({ ok: true, rows: 4312, through_seq: 4312 })],
  ["GET", /^\/sessions$/, () => page(sessions)],
  [
    "POST",
    /^\/sessions$/,
    ({ body }) => {
      const now = new Date().toISOString();
      const session = {
        id: newId(),
        title: (body.title as string) ?? "New chat",
        pinned: false,
        archived: false,
        owner_id: 1,
        created_at: now,
        updated_at: now,
      };
      sessions.unshift(session);
      return session;
    },
  ],
  [
    "GET",
    /^\/sessions\/([^/]+)$/,
    ({ params }) =>
      found(
        sessions.find((each) => each.id === params[0]),
        "chat",
      ),
  ],
  [
    "PATCH",
    /^\/sessions\/([^/]+)$/,
    ({ params, body }) =>
      Object.assign(
        found(
          sessions.find((each) => each.id === params[0]),
          "chat",
        ),
        body,
      ),
  ],
  [
    "DELETE",
    /^\/sessions\/([^/]+)$/,
    ({ params }) => {
      sessions.splice(
        sessions.findIndex((each) => each.id === params[0]),
        1,
      );
    },
  ],
  [
    "POST",
    /^\/sessions\/([^/]+)\/turns$/,
    ({ params, body }) => {
      const turn = newId();
      void playTurn(params[0] ?? "", turn, body.text as string);
      return { turn_id: turn };
    },
  ],
  ["POST", /^\/turns\/([^/]+)\/stop$/, ({ params }) => stopTurn(params[0] ?? "")],
  [
    "GET",
    /^\/sessions\/([^/]+)\/events$/,
    ({ params, query }) => ({
      items: events.filter((event) => event.session_id === params[0] && event.id > Number(query.get("after") ?? 0)),
      next_after: null,
    }),
  ],
  ["GET", /^\/models$/, () => page(models)],
  [
    "POST",
    /^\/models$/,
    ({ body }) => {
      const model = {
        ...(body as object),
        has_key: "api_key" in body,
        source: "database",
        default: false,
      } as (typeof models)[number];
      models.push(model);
      return model;
    },
  ],
  [
    "POST",
    /^\/models\/([^/]+)\/test$/,
    ({ params }) =>
      params[0] === "ollama"
        ? { ok: false, tool_call: false, latency_ms: 3, error: "connection refused by 127.0.0.1:11434" }
        : { ok: true, text: "pong", tool_call: true, latency_ms: 412, usage: { input_tokens: 61, output_tokens: 9 } },
  ],
  [
    "POST",
    /^\/models\/([^/]+)\/default$/,
    ({ params }) => {
      for (const model of models) model.default = model.name === params[0];
    },
  ],
  [
    "DELETE",
    /^\/models\/([^/]+)$/,
    ({ params }) => {
      models.splice(
        models.findIndex((each) => each.name === params[0]),
        1,
      );
    },
  ],
  ["GET", /^\/users$/, () => page(users)],
  [
    "POST",
    /^\/users$/,
    ({ body }) => {
      const user = {
        id: users.length + 1,
        created_at: new Date().toISOString(),
        ...(body as object),
      } as (typeof users)[number];
      users.push(user);
      return user;
    },
  ],
  [
    "PATCH",
    /^\/users\/(\d+)$/,
    ({ params, body }) =>
      Object.assign(
        found(
          users.find((user) => user.id === Number(params[0])),
          "account",
        ),
        body,
      ),
  ],
  ["GET", /^\/tokens$/, () => page(apiTokens)],
  [
    "POST",
    /^\/tokens$/,
    ({ body }) => {
      const token = {
        id: apiTokens.length + 1,
        hint: "shp_x1Y",
        created_at: new Date().toISOString(),
        ...(body as object),
      };
      apiTokens.push(token);
      return { ...token, token: "shp_x1Y8kTq3VbN5mZ7wR9cE2fH4jL6pS0dG" };
    },
  ],
  [
    "GET",
    /^\/approvals$/,
    ({ query }) => page(approvals.filter((each) => (each.state === "pending") === (query.get("state") === "pending"))),
  ],
  [
    "GET",
    /^\/approvals\/count$/,
    () => ({ pending: approvals.filter((each) => each.state === "pending" && each.may_decide).length }),
  ],
  ["GET", /^\/approvals\/([^/]+)$/, ({ params }) => approvalOf(params[0])],
  [
    "POST",
    /^\/approvals\/([^/]+)\/decision$/,
    ({ params, body }) => {
      const approval = approvalOf(params[0]);
      if (approval.state !== "pending") throw new Failure(409, "Conflict", "this was decided already", { approval });
      decide(approval, body);
      return approval;
    },
  ],
  [
    "POST",
    /^\/approvals\/([^/]+)\/reveal$/,
    ({ params }) => ({
      args: JSON.parse(JSON.stringify(approvalOf(params[0]).args).replaceAll("«hidden: password»", "correct horse")),
    }),
  ],
  ["GET", /^\/grants$/, () => page(grants)],
  [
    "DELETE",
    /^\/grants\/([^/]+)$/,
    ({ params }) => {
      found(
        grants.find((each) => each.id === params[0]),
        "grant",
      ).state = "revoked";
    },
  ],
  ["GET", /^\/freeze$/, () => freeze],
  [
    "PUT",
    /^\/freeze$/,
    ({ body }) => {
      const now = new Date().toISOString();
      Object.assign(
        freeze,
        body.frozen
          ? { frozen: true, since: now, by: { id: 1, name: "admin" }, reason: body.reason ?? null }
          : { frozen: false, since: null, by: null, reason: null },
      );
      for (const host of hosts) if (host.state === "online") host.frozen = freeze.frozen;
      announce("freeze.changed.v1", { frozen: freeze.frozen });
      return freeze;
    },
  ],
  [
    "PUT",
    /^\/hosts\/(\d+)\/read-only$/,
    ({ params, body }) => {
      const host = found(
        hosts.find((each) => each.id === Number(params[0])),
        "host",
      );
      host.read_only = body.read_only;
      announce("hosts.changed.v1", { edge_id: host.id });
      return host;
    },
  ],
  ["POST", /^\/policy\/explain$/, ({ body }) => explain(body)],
  [
    "POST",
    /^\/calls\/([^/]+)\/cancel$/,
    ({ params }) => {
      const approval = approvals.find((each) => each.call_id === params[0]);
      if (approval) settle(approval, { state: "withdrawn", call_state: "cancelled" });
    },
  ],
  [
    "PUT",
    /^\/settings\/access$/,
    ({ body }) => {
      accessMode = body.mode;
      return me().access;
    },
  ],
  [
    "GET",
    /^\/about$/,
    () => ({
      version: "0.1.0",
      features: ["sqlite", "otlp"],
      licences: [
        { name: "tokio", version: "1.48.0", licence: "MIT" },
        { name: "axum", version: "0.8.9", licence: "MIT" },
      ],
    }),
  ],
];

function readBody(request: IncomingMessage): Promise<Body> {
  return new Promise((resolve) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => resolve(text ? JSON.parse(text) : {}));
  });
}

function streamTo(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": open\n\n");
  const stop = listen((name, data, id) => {
    response.write(`${id ? `id: ${id}\n` : ""}${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
  });
  request.on("close", stop);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://mock");
  const path = url.pathname.replace("/api/v1", "");
  const send = (status: number, body: unknown, type = "application/json") => {
    response.writeHead(status, { "content-type": type });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };
  try {
    if (!signedIn && path !== "/sign-in") throw new Failure(401, "Not signed in", "Sign in first.");
    if (path === "/events") return streamTo(request, response);
    for (const [method, pattern, handler] of routes) {
      const match = request.method === method ? pattern.exec(path) : null;
      if (!match) continue;
      const body = method === "GET" ? ({} as Body) : await readBody(request);
      const result = await handler({ params: match.slice(1).map(decodeURIComponent), query: url.searchParams, body });
      return send(result === undefined ? 204 : 200, result);
    }
    throw new Failure(404, "Not found", `The stand-in has no ${request.method} ${path}.`);
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure(500, "Failed", String(error));
    send(
      failure.status,
      { title: failure.title, status: failure.status, detail: failure.message, ...failure.more },
      "application/problem+json",
    );
  }
}

async function seed(): Promise<void> {
  const titles = ["how loaded are web-1 and db-1?", "why is nginx failing?", "is port 22 open on localhost?"];
  for (const [index, text] of titles.entries()) {
    const at = ago(86_400 * index + 300);
    const session = {
      id: newId(),
      title: "New chat",
      pinned: index === 1,
      archived: false,
      owner_id: 1,
      created_at: at,
      updated_at: at,
    };
    sessions.push(session);
    await playTurn(session.id, newId(), text, 0);
    session.updated_at = at;
  }
  seedApprovals();
}

export function mockManager(): Plugin {
  const use = (server: {
    middlewares: { use(handler: (request: IncomingMessage, response: ServerResponse, next: () => void) => void): void };
  }) => {
    void seed();
    server.middlewares.use((request, response, next) => {
      if (request.url?.startsWith("/api/v1")) void answer(request, response);
      else next();
    });
  };
  return { name: "mock-manager", configureServer: use, configurePreviewServer: use };
}
