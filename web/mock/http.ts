/** How the stand-in manager answers: routes in order, problems as the manager tells them, one event stream. */
import type { IncomingMessage, ServerResponse } from "node:http";

/** A body is taken as it comes: this stand-in checks nothing. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Body = any;

export interface Asked {
  params: string[];
  query: URLSearchParams;
  body: Body;
  /** The console's address, by the name that passkeys need. */
  origin: string;
}

export type Route = [method: string, path: RegExp, handler: (request: Asked) => unknown];

export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    message: string,
    readonly more: object = {},
  ) {
    super(message);
  }
}

/** An answer with a status of its own. */
export class Answer {
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {}
}

export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Failure(404, "Not found", `There is no such ${what}.`);
  return value;
}

export function remove<T>(list: T[], fits: (each: T) => boolean): void {
  const at = list.findIndex(fits);
  if (at >= 0) list.splice(at, 1);
}

export const page = (items: unknown[]) => ({ items, next_cursor: null });

function readBody(request: IncomingMessage): Promise<Body> {
  return new Promise((resolve) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => resolve(text ? JSON.parse(text) : {}));
  });
}

/** Answers one request under `/api/v1`. */
export async function answer(
  routes: readonly Route[],
  mayAnswer: (path: string) => boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://mock");
  const path = url.pathname.replace("/api/v1", "");
  const send = (status: number, body: unknown, type = "application/json") => {
    response.writeHead(status, { "content-type": type });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };
  try {
    if (!mayAnswer(path)) throw new Failure(401, "Not signed in", "Sign in first.");
    for (const [method, pattern, handler] of routes) {
      const match = request.method === method ? pattern.exec(path) : null;
      if (!match) continue;
      const body = method === "GET" ? ({} as Body) : await readBody(request);
      const result = await handler({
        params: match.slice(1).map(decodeURIComponent),
        query: url.searchParams,
        body,
        origin: `http://localhost:${request.socket.localPort}`,
      });
      if (result instanceof Answer) return send(result.status, result.body);
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
