/** Chats and the models behind them. */
import { models, newId, sessions } from "../data";
import { found, page, type Route } from "../http";
import { events, playTurn, stopTurn } from "../turns";

export const chatRoutes: Route[] = [
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
