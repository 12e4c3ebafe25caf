/** Calls of the manager's API, one function each. Errors are `ApiError`, made from problem details. */

import type { TurnEvent } from "../events/types";
import type {
  About,
  AccessMode,
  ApiToken,
  Call,
  CallDetail,
  Capability,
  ChainProof,
  DensityBucket,
  EnrollmentToken,
  Host,
  HostDetail,
  Json,
  Me,
  Model,
  ModelInput,
  ModelTest,
  NewEnrollmentToken,
  Page,
  Problem,
  ResultWindow,
  Role,
  RunCall,
  Session,
  User,
} from "./types";

export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
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

type Query = Record<string, string | number | boolean | undefined | null>;

export function queryString(query: Query): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") params.set(key, String(value));
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}

async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (method !== "GET") headers["x-steadyhand-csrf"] = csrfToken;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      signal,
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new Unreachable(cause);
  }
  if (!response.ok) throw new ApiError(await readProblem(response));
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

async function readProblem(response: Response): Promise<Problem> {
  const fallback: Problem = { title: response.statusText || "The request failed", status: response.status };
  try {
    const parsed = (await response.json()) as Partial<Problem>;
    return { ...fallback, ...parsed, status: response.status };
  } catch {
    return fallback;
  }
}

const id = encodeURIComponent;

const PAGE_LIMIT = 200;
/** Lists that are shown whole stop here; nobody reads further, and the browser stays quick. */
const MAX_PAGES = 50;

/** Reads a list to its end. */
async function every<T>(path: string, signal?: AbortSignal): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await request<Page<T>>(
      "GET",
      `${path}${queryString({ limit: PAGE_LIMIT, cursor })}`,
      undefined,
      signal,
    );
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return items;
}

const MAX_RESULT_BYTES = 16 * 1024 * 1024;

/** Reads a stored result whole, window by window. */
async function wholeResult(call: string): Promise<Json> {
  let text = "";
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const window: ResultWindow = await request<ResultWindow>(
      "GET",
      `/calls/${id(call)}/result${queryString({ offset, limit: 262_144 })}`,
    );
    if (window.total_bytes > MAX_RESULT_BYTES)
      throw new Error("The result is too large for the browser. Export it over the API.");
    text += window.text;
    offset = window.next_offset ?? undefined;
  }
  return JSON.parse(text) as Json;
}

export interface CallFilter {
  tool?: string;
  class?: string;
  state?: string;
  edge?: number;
  user?: number;
  session?: string;
  origin?: string;
  from?: string;
  to?: string;
  q?: string;
}

export const api = {
  signIn: (name: string, password: string) => request<Me>("POST", "/sign-in", { name, password }),
  signOut: () => request<void>("POST", "/sign-out"),
  me: (signal?: AbortSignal) => request<Me>("GET", "/me", undefined, signal),
  changePassword: (current: string, next: string) => request<Me>("POST", "/me/password", { current, new: next }),

  hosts: (signal?: AbortSignal) => every<Host>("/hosts", signal),
  host: (host: number, signal?: AbortSignal) => request<HostDetail>("GET", `/hosts/${host}`, undefined, signal),
  updateHost: (host: number, change: { name?: string; labels?: Record<string, string> }) =>
    request<Host>("PATCH", `/hosts/${host}`, change),
  revokeHost: (host: number) => request<void>("POST", `/hosts/${host}/revoke`, {}),
  deleteHost: (host: number) => request<void>("DELETE", `/hosts/${host}`),
  allowRejoin: (host: number) => request<void>("POST", `/hosts/${host}/allow-rejoin`, {}),
  resolveQuarantine: (host: number, keepInstance: string) =>
    request<void>("POST", `/hosts/${host}/resolve`, { keep_instance: keepInstance }),

  enrollmentTokens: (signal?: AbortSignal) => every<EnrollmentToken>("/enrollment-tokens", signal),
  enrollmentToken: (token: number, signal?: AbortSignal) =>
    request<EnrollmentToken>("GET", `/enrollment-tokens/${token}`, undefined, signal),
  createEnrollmentToken: (labels: Record<string, string>, ttlSeconds: number) =>
    request<NewEnrollmentToken>("POST", "/enrollment-tokens", { labels, ttl_seconds: ttlSeconds }),
  revokeEnrollmentToken: (token: number) => request<void>("DELETE", `/enrollment-tokens/${token}`),

  capabilities: (signal?: AbortSignal) => request<Page<Capability>>("GET", "/capabilities", undefined, signal),

  runCall: (call: RunCall, signal?: AbortSignal) => request<Call>("POST", "/calls", call, signal),
  cancelCall: (call: string) => request<void>("POST", `/calls/${id(call)}/cancel`, {}),
  calls: (filter: CallFilter, cursor?: string, limit = 100, signal?: AbortSignal) =>
    request<Page<Call>>("GET", `/calls${queryString({ ...filter, cursor, limit })}`, undefined, signal),
  call: (call: string, signal?: AbortSignal) => request<CallDetail>("GET", `/calls/${id(call)}`, undefined, signal),
  wholeResult,

  density: (filter: CallFilter & { buckets: number }, signal?: AbortSignal) =>
    request<DensityBucket[]>("GET", `/audit/density${queryString({ ...filter })}`, undefined, signal),
  verifyChain: (signal?: AbortSignal) => request<ChainProof>("GET", "/audit/verify", undefined, signal),
  exportUrl: (filter: CallFilter, format: "csv" | "jsonl") =>
    `/api/v1/audit/export${queryString({ format, ...filter })}`,

  sessions: (signal?: AbortSignal) => every<Session>("/sessions", signal),
  session: (session: string, signal?: AbortSignal) =>
    request<Session>("GET", `/sessions/${id(session)}`, undefined, signal),
  createSession: (session: { title?: string; model?: string }) => request<Session>("POST", "/sessions", session),
  updateSession: (
    session: string,
    change: { title?: string; pinned?: boolean; archived?: boolean; model?: string | null },
  ) => request<Session>("PATCH", `/sessions/${id(session)}`, change),
  deleteSession: (session: string) => request<void>("DELETE", `/sessions/${id(session)}`),
  submitTurn: (session: string, text: string) =>
    request<{ turn_id: string }>("POST", `/sessions/${id(session)}/turns`, { text }),
  stopTurn: (turn: string) => request<void>("POST", `/turns/${id(turn)}/stop`, {}),
  events: (session: string, after: number, limit = 1000, signal?: AbortSignal) =>
    request<{ items: TurnEvent[]; next_after?: number | null }>(
      "GET",
      `/sessions/${id(session)}/events${queryString({ after, limit })}`,
      undefined,
      signal,
    ),

  models: (signal?: AbortSignal) => request<Page<Model>>("GET", "/models", undefined, signal),
  createModel: (model: ModelInput) => request<Model>("POST", "/models", model),
  updateModel: (name: string, change: Partial<ModelInput>) => request<Model>("PATCH", `/models/${id(name)}`, change),
  deleteModel: (name: string) => request<void>("DELETE", `/models/${id(name)}`),
  testModel: (name: string) => request<ModelTest>("POST", `/models/${id(name)}/test`, {}),
  makeDefaultModel: (name: string) => request<void>("POST", `/models/${id(name)}/default`, {}),

  users: (signal?: AbortSignal) => every<User>("/users", signal),
  createUser: (user: { name: string; display_name?: string; roles: Role[]; password: string }) =>
    request<User>("POST", "/users", user),
  updateUser: (
    user: number,
    change: { roles?: Role[]; disabled?: boolean; password?: string; display_name?: string },
  ) => request<User>("PATCH", `/users/${user}`, change),
  deleteUser: (user: number) => request<void>("DELETE", `/users/${user}`),
  tokens: (signal?: AbortSignal) => every<ApiToken>("/tokens", signal),
  createToken: (token: { name: string; scopes: string[]; expires_in_days?: number }) =>
    request<ApiToken>("POST", "/tokens", token),
  deleteToken: (token: number) => request<void>("DELETE", `/tokens/${token}`),

  setAccess: (mode: AccessMode) => request<{ mode: AccessMode; pinned: boolean }>("PUT", "/settings/access", { mode }),
  about: (signal?: AbortSignal) => request<About>("GET", "/about", undefined, signal),
};

/** What to tell a person about a failure. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    const details = error.problem.errors?.map((each) => `${each.at || "arguments"}: ${each.message}`).join("; ");
    return details ? `${error.message} (${details})` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}
