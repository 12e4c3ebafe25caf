/** Calls of the manager's API, one function each, over the client that is typed by the API's document. */
import createClient from "openapi-fetch";
import type { TurnEvent } from "../events/types";
import { noteServerTime } from "../lib/clock";
import { sentence } from "../lib/format";
import type { Approval, DecisionInput, Grant } from "./approvals";
import type { paths } from "./generated";
import type {
  AccessMode,
  Call,
  CallDetail,
  CallFilter,
  Capability,
  Json,
  ModelInput,
  Page,
  Problem,
  RunCall,
  SessionChange,
  TokenInput,
  UserChange,
  UserInput,
} from "./types";

export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(sentence(problem.detail || problem.title));
    this.name = "ApiError";
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }
}

/** The manager could not be reached at all; the request may or may not have arrived. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super("The manager can't be reached. Check the connection, then try again.", { cause });
    this.name = "Unreachable";
  }
}

let csrfToken = "";

export function setCsrfToken(token: string): void {
  csrfToken = token;
}

export const client = createClient<paths>({
  baseUrl: typeof location === "undefined" ? "http://localhost" : location.origin,
  credentials: "same-origin",
  fetch: async (request) => {
    if (request.method !== "GET") request.headers.set("x-steadyhand-csrf", csrfToken);
    try {
      const response = await fetch(request);
      noteServerTime(response.headers.get("date"));
      return response;
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
      throw new Unreachable(cause);
    }
  },
});

/** The winner, where somebody else decided first. */
export function winnerOf(error: unknown): Approval | null {
  if (!(error instanceof ApiError) || error.status !== 409) return null;
  return (error.problem as { approval?: Approval }).approval ?? null;
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of an answer, or the problem as an error. */
export async function body<T>(answering: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answering;
  if (!response.ok) {
    const told = error !== null && typeof error === "object" ? (error as Partial<Problem>) : {};
    throw new ApiError({ title: response.statusText || "The request failed", ...told, status: response.status });
  }
  return data as T;
}

/**
 * The same where the document says "anything" for JSON that the console knows more of (arguments, schemas, payloads).
 */
export function knownAs<T>(answering: Promise<Answer<unknown>>): Promise<T> {
  return body(answering) as Promise<T>;
}

const PAGE_LIMIT = 200;
/** Lists that are shown whole stop here; nobody reads further, and the browser stays quick. */
const MAX_PAGES = 50;

interface PageQuery {
  limit: number;
  cursor?: string;
}

/** Reads a list to its end. */
async function every<T>(page: (query: PageQuery) => Promise<Answer<Page<T>>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const answer = await body(page({ limit: PAGE_LIMIT, cursor }));
    items.push(...answer.items);
    cursor = answer.next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return items;
}

const MAX_RESULT_BYTES = 16 * 1024 * 1024;
const MAX_DOWNLOAD_BYTES = 256 * 1024 * 1024;
const WINDOW_BYTES = 262_144;

/** Reads a stored result whole, window by window, as the text that it is kept as. */
async function resultParts(id: string, maxBytes = MAX_DOWNLOAD_BYTES): Promise<string[]> {
  const parts: string[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const params = { path: { id }, query: { offset, limit: WINDOW_BYTES } };
    const window: { text: string; total_bytes: number; next_offset?: number | null } = await body(
      client.GET("/api/v1/calls/{id}/result", { params }),
    );
    if (window.total_bytes > maxBytes) {
      throw new Error("The result is too large for the browser. Read it over the API.");
    }
    parts.push(window.text);
    offset = window.next_offset ?? undefined;
  }
  return parts;
}

async function wholeResult(id: string): Promise<Json> {
  return JSON.parse((await resultParts(id, MAX_RESULT_BYTES)).join("")) as Json;
}

/** Leaves out what is empty: a filter that is not set filters nothing. */
function filled(filter: CallFilter): CallFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined && value !== ""));
}

function exportUrl(filter: CallFilter, format: "csv" | "jsonl"): string {
  const query = new URLSearchParams({ format });
  for (const [key, value] of Object.entries(filled(filter))) query.set(key, String(value));
  return `/api/v1/audit/export?${query}`;
}

export const api = {
  signIn: (name: string, password: string) => body(client.POST("/api/v1/sign-in", { body: { name, password } })),
  signOut: () => body(client.POST("/api/v1/sign-out")),
  me: (signal?: AbortSignal) => body(client.GET("/api/v1/me", { signal })),
  changePassword: (current: string, next: string) =>
    body(client.POST("/api/v1/me/password", { body: { current, new: next } })),

  hosts: (signal?: AbortSignal) => every((query) => client.GET("/api/v1/hosts", { params: { query }, signal })),
  host: (id: number, signal?: AbortSignal) =>
    body(client.GET("/api/v1/hosts/{id}", { params: { path: { id } }, signal })),
  updateHost: (id: number, change: { name?: string; labels?: Record<string, string> }) =>
    body(client.PATCH("/api/v1/hosts/{id}", { params: { path: { id } }, body: change })),
  revokeHost: (id: number) => body(client.POST("/api/v1/hosts/{id}/revoke", { params: { path: { id } } })),
  deleteHost: (id: number) => body(client.DELETE("/api/v1/hosts/{id}", { params: { path: { id } } })),
  allowRejoin: (id: number) => body(client.POST("/api/v1/hosts/{id}/allow-rejoin", { params: { path: { id } } })),
  resolveQuarantine: (id: number, keepInstance: string) =>
    body(
      client.POST("/api/v1/hosts/{id}/resolve", { params: { path: { id } }, body: { keep_instance: keepInstance } }),
    ),

  enrollmentTokens: (signal?: AbortSignal) =>
    every((query) => client.GET("/api/v1/enrollment-tokens", { params: { query }, signal })),
  enrollmentToken: (id: number, signal?: AbortSignal) =>
    body(client.GET("/api/v1/enrollment-tokens/{id}", { params: { path: { id } }, signal })),
  createEnrollmentToken: (labels: Record<string, string>, ttlSeconds: number) =>
    body(client.POST("/api/v1/enrollment-tokens", { body: { labels, ttl_seconds: ttlSeconds } })),
  revokeEnrollmentToken: (id: number) =>
    body(client.DELETE("/api/v1/enrollment-tokens/{id}", { params: { path: { id } } })),

  capabilities: async (signal?: AbortSignal) =>
    (await knownAs<Page<Capability>>(client.GET("/api/v1/capabilities", { signal }))).items,

  packs: async (signal?: AbortSignal) => (await body(client.GET("/api/v1/packs", { signal }))).items,
  acceptPack: (pin: string) => body(client.POST("/api/v1/packs/{pin}/accept", { params: { path: { pin } } })),
  revokePack: (pin: string) => body(client.POST("/api/v1/packs/{pin}/revoke", { params: { path: { pin } } })),

  runCall: ({ args, ...call }: RunCall, signal?: AbortSignal) =>
    knownAs<Call>(client.POST("/api/v1/calls", { body: { ...call, args: args as Record<string, never> }, signal })),
  cancelCall: (id: string) => body(client.POST("/api/v1/calls/{id}/cancel", { params: { path: { id } } })),
  calls: (filter: CallFilter, cursor: string | undefined, limit: number, signal?: AbortSignal) =>
    knownAs<Page<Call>>(
      client.GET("/api/v1/calls", { params: { query: { ...filled(filter), cursor, limit } }, signal }),
    ),
  call: (id: string, signal?: AbortSignal) =>
    knownAs<CallDetail>(client.GET("/api/v1/calls/{id}", { params: { path: { id } }, signal })),
  wholeResult,
  resultParts,

  density: (filter: CallFilter & { buckets: number }, signal?: AbortSignal) =>
    body(
      client.GET("/api/v1/audit/density", {
        params: { query: { ...filled(filter), buckets: filter.buckets } },
        signal,
      }),
    ),
  verifyChain: (signal?: AbortSignal) => body(client.GET("/api/v1/audit/verify", { signal })),
  exportUrl,

  sessions: (signal?: AbortSignal) => every((query) => client.GET("/api/v1/sessions", { params: { query }, signal })),
  createSession: (session: { title?: string; model?: string }) =>
    body(client.POST("/api/v1/sessions", { body: session })),
  updateSession: (id: string, change: SessionChange) =>
    body(client.PATCH("/api/v1/sessions/{id}", { params: { path: { id } }, body: change })),
  deleteSession: (id: string) => body(client.DELETE("/api/v1/sessions/{id}", { params: { path: { id } } })),
  submitTurn: (id: string, text: string) =>
    body(client.POST("/api/v1/sessions/{id}/turns", { params: { path: { id } }, body: { text } })),
  stopTurn: (id: string) => body(client.POST("/api/v1/turns/{id}/stop", { params: { path: { id } } })),
  events: (id: string, after: number, limit = 1000, signal?: AbortSignal) =>
    knownAs<{ items: TurnEvent[]; next_after?: number | null }>(
      client.GET("/api/v1/sessions/{id}/events", { params: { path: { id }, query: { after, limit } }, signal }),
    ),

  models: async (signal?: AbortSignal) => (await body(client.GET("/api/v1/models", { signal }))).items,
  createModel: (model: ModelInput) => body(client.POST("/api/v1/models", { body: model })),
  deleteModel: (name: string) => body(client.DELETE("/api/v1/models/{name}", { params: { path: { name } } })),
  testModel: (name: string) => body(client.POST("/api/v1/models/{name}/test", { params: { path: { name } } })),
  makeDefaultModel: (name: string) =>
    body(client.POST("/api/v1/models/{name}/default", { params: { path: { name } } })),

  users: (signal?: AbortSignal) => every((query) => client.GET("/api/v1/users", { params: { query }, signal })),
  createUser: (user: UserInput) => body(client.POST("/api/v1/users", { body: user })),
  updateUser: (id: number, change: UserChange) =>
    body(client.PATCH("/api/v1/users/{id}", { params: { path: { id } }, body: change })),
  deleteUser: (id: number) => body(client.DELETE("/api/v1/users/{id}", { params: { path: { id } } })),
  tokens: (signal?: AbortSignal) => every((query) => client.GET("/api/v1/tokens", { params: { query }, signal })),
  createToken: (token: TokenInput) => body(client.POST("/api/v1/tokens", { body: token })),
  deleteToken: (id: number) => body(client.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } })),

  approvals: (state: "pending" | "decided", cursor: string | undefined, limit: number, signal?: AbortSignal) =>
    knownAs<Page<Approval>>(client.GET("/api/v1/approvals", { params: { query: { state, cursor, limit } }, signal })),
  pendingApprovals: (signal?: AbortSignal) =>
    every<Approval>(
      (query) =>
        client.GET("/api/v1/approvals", { params: { query: { ...query, state: "pending" } }, signal }) as Promise<
          Answer<Page<Approval>>
        >,
    ),
  approvalCount: async (signal?: AbortSignal) =>
    (await body(client.GET("/api/v1/approvals/count", { signal }))).pending,
  approval: (id: string, signal?: AbortSignal) =>
    knownAs<Approval>(client.GET("/api/v1/approvals/{id}", { params: { path: { id } }, signal })),
  decide: (id: string, decision: DecisionInput) =>
    knownAs<Approval>(client.POST("/api/v1/approvals/{id}/decision", { params: { path: { id } }, body: decision })),
  reveal: async (id: string) =>
    (await knownAs<{ args: Json }>(client.POST("/api/v1/approvals/{id}/reveal", { params: { path: { id } } }))).args,
  grants: (signal?: AbortSignal) =>
    every<Grant>(
      (query) => client.GET("/api/v1/grants", { params: { query }, signal }) as Promise<Answer<Page<Grant>>>,
    ),
  revokeGrant: (id: string) => body(client.DELETE("/api/v1/grants/{id}", { params: { path: { id } } })),
  freeze: (signal?: AbortSignal) => body(client.GET("/api/v1/freeze", { signal })),
  setFreeze: (frozen: boolean, reason?: string) => body(client.PUT("/api/v1/freeze", { body: { frozen, reason } })),
  setReadOnly: (id: number, readOnly: boolean) =>
    body(client.PUT("/api/v1/hosts/{id}/read-only", { params: { path: { id } }, body: { read_only: readOnly } })),
  explain: ({ args, ...call }: RunCall) =>
    body(client.POST("/api/v1/policy/explain", { body: { ...call, args: args as Record<string, never> } })),

  setAccess: (mode: AccessMode) => body(client.PUT("/api/v1/settings/access", { body: { mode } })),
  about: (signal?: AbortSignal) => body(client.GET("/api/v1/about", { signal })),
};

/** What to tell a person about a failure. The detail already names the field that is wrong. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    const others = error.problem.errors?.slice(1).map((each) => `${each.at || "arguments"}: ${each.message}`);
    return others?.length ? `${error.message} ${others.join("; ")}` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}
