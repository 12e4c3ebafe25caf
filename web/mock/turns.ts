/** Plays a turn the way the agent does: events with rising ids, streamed and kept. */
import type { Approval } from "../src/api/approvals";
import type { Call, Json } from "../src/api/types";
import type { TurnEvent } from "../src/events/types";
import { askFor, decided, grantFor, settle } from "./approvals";
import { calls, hosts, loadResult, makeCall, newId, sessions } from "./data";

export const events: TurnEvent[] = [];
const listeners = new Set<(name: string | null, data: object, id?: number) => void>();
const stops = new Set<string>();

export function listen(listener: (name: string | null, data: object, id?: number) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function announce(name: string, payload: object): void {
  for (const listener of listeners) listener(name, payload);
}

const asking = new Map<string, Approval>();

export function stopTurn(turn: string): void {
  stops.add(turn);
  const approval = asking.get(turn);
  if (approval) settle(approval, { state: "withdrawn", call_state: "cancelled" });
}

export function emit<K extends TurnEvent["kind"]>(
  session: string,
  turn: string,
  kind: K,
  payload: Extract<TurnEvent, { kind: K }>["payload"],
): void {
  const id = events.length + 1;
  const event = {
    id,
    session_id: session,
    turn_id: turn,
    seq: id,
    kind,
    at: new Date().toISOString(),
    payload,
  } as TurnEvent;
  events.push(event);
  for (const listener of listeners) listener(event.kind, event, id);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Planned {
  tool: string;
  edge: number;
  args: Json;
  result: Json;
  fails?: string;
  /** It changes something and waits for a person. */
  asks?: boolean;
}

function plan(text: string): { calls: Planned[]; answer: string } {
  const [web, db] = hosts;
  if (/port|probe_tcp/.test(text)) {
    return {
      calls: [
        {
          tool: "probe_tcp",
          edge: 1,
          args: { target: "localhost:22" },
          result: { target: "localhost:22", attempts: [{ address: "127.0.0.1:22", connect_ms: 0.21, error: null }] },
        },
      ],
      answer: "**Port 22 is open** on `localhost`, seen from web-1: connected to 127.0.0.1 in 0.21 ms.",
    };
  }
  if (/restart/.test(text)) {
    return {
      calls: [
        {
          tool: "restart_service",
          edge: 1,
          args: { service: "nginx.service", reason: "asked in the chat", action: "restart" },
          result: { unit: "nginx.service", state: "active", since_seconds: 3 },
          asks: true,
        },
      ],
      answer: "`nginx.service` on web-1 was restarted and is **active** since 3 s.",
    };
  }
  if (/clean|bash/.test(text)) {
    const command = /command='(.*)'/.exec(text)?.[1];
    return {
      calls: [
        {
          tool: "bash",
          edge: 1,
          args: command
            ? { command }
            : { command: "cd /srv/shop && rm -rf cache/* && systemctl restart shop.service", timeout_s: 60 },
          result: { exit_code: 0, stdout: "", stderr: "" },
          asks: true,
        },
      ],
      answer: "The cache is empty and `shop.service` runs again.",
    };
  }
  if (/nginx/.test(text)) {
    const lines = Array.from(
      { length: 40 },
      (_, index) =>
        `\u001b[31m[emerg]\u001b[0m 2841#2841: bind() to 0.0.0.0:80 failed (98: Address already in use) attempt ${index + 1}`,
    );
    return {
      calls: [
        {
          tool: "service_status",
          edge: 1,
          args: { service: "nginx.service" },
          result: {
            units: [
              {
                unit: "nginx.service",
                state: "failed",
                since: new Date(Date.now() - 4e5).toISOString(),
                restarts: 5,
                memory_bytes: 0,
              },
            ],
          },
        },
        {
          tool: "read_journal",
          edge: 1,
          args: { unit: "nginx.service", lines: 40 },
          result: {
            entries: lines.map((message, index) => ({
              time: new Date(Date.now() - index * 1000).toISOString(),
              priority: "err",
              message,
            })),
            text: lines.join("\n"),
          },
        },
        {
          tool: "probe_tcp",
          edge: 3,
          args: { target: "localhost:80" },
          result: null,
          fails: "cache-2 is offline since 90 min",
        },
      ],
      answer:
        "`nginx.service` on web-1 **failed**: port 80 is already in use.\n\n1. It was restarted 5 times.\n2. The journal says `bind() to 0.0.0.0:80 failed`.\n\nFind the process that holds the port with:\n\n```sh\nss -ltnp 'sport = :80'\n```\n\nMore in the [manual](https://nginx.org/en/docs/).",
    };
  }
  const table = [web, db]
    .map(
      (host) =>
        `| ${host?.name} | ${host?.load?.load1} | ${host?.load?.cpu_percent} % | ${host?.load?.memory_percent} % | ${host?.load?.disk_percent} % |`,
    )
    .join("\n");
  return {
    calls: [1, 2].map((edge) => ({
      tool: "host_load",
      edge,
      args: {},
      result: loadResult(hosts[edge - 1] ?? (web as NonNullable<typeof web>)),
    })),
    answer: `web-1 is lightly loaded; **db-1 is busy** and its disk is filling up.\n\n| Host | Load (1 min) | CPU | Memory | Disk |\n|---|--:|--:|--:|--:|\n${table}\n`,
  };
}

export async function playTurn(sessionId: string, turnId: string, text: string, pace = 60): Promise<void> {
  const session = sessions.find((each) => each.id === sessionId);
  const slash = /^\/(\w+)/.exec(text);
  const begin = Date.now();
  emit(sessionId, turnId, "chat.user-message.v1", { message_id: newId(), text, user_id: 1, user_name: "admin" });
  if (session) {
    session.running_turn_id = turnId;
    if (session.title === "New chat") session.title = text.slice(0, 60);
    emit(sessionId, turnId, "session.updated.v1", {
      title: session.title,
      pinned: session.pinned,
      archived: session.archived,
    });
  }
  emit(sessionId, turnId, "chat.turn-started.v1", { model: { provider: "builtin", model: "router", builtin: true } });
  emit(sessionId, turnId, "chat.phase.v1", { phase: "model", round: 1 });
  const planned = plan(text);
  const started: [Planned, Call][] = planned.calls.map((each) => [
    each,
    makeCall({
      tool: each.tool,
      edge_id: each.edge,
      args: each.args,
      state: "running",
      origin: "chat",
      session_id: sessionId,
      turn_id: turnId,
      caller: slash ? { user_id: 1, name: "admin", role: "admin" } : { user_id: 0, name: "system", role: "system" },
      on_behalf_of: slash ? null : { user_id: 1, name: "admin" },
    }),
  ]);
  await pause(pace * 3);
  emit(sessionId, turnId, "chat.message.v1", {
    message_id: newId(),
    text: "",
    calls: started.map(([each, call]) => ({ call_id: call.id, tool: each.tool })),
  });
  emit(sessionId, turnId, "chat.phase.v1", { phase: "tools", round: 1 });
  for (const [, call] of started) {
    calls.unshift(call);
    emit(sessionId, turnId, "chat.tool-call.v1", {
      call_id: call.id,
      tool: call.tool,
      scope: call.scope,
      class: call.class,
      edge_id: call.edge_id,
      edge_name: call.edge_name,
      args: call.args,
    });
    announce("calls.changed.v1", { call_id: call.id, state: call.state });
  }
  let answer = planned.answer;
  for (const [each, call] of started) {
    if (each.asks && !grantFor(call)) {
      const approval = await putToAPerson(sessionId, turnId, call);
      if (approval.state !== "approved") {
        const who = approval.decided_by?.name ?? "nobody";
        call.error =
          approval.state === "denied"
            ? `denied by ${who}${approval.note ? `: ${approval.note}` : ""}`
            : "nobody decided in time";
        emit(sessionId, turnId, "chat.tool-result.v1", { call_id: call.id, state: call.state, error: call.error });
        answer = `I did nothing: ${call.error}`;
        continue;
      }
    }
    await pause(pace * 6);
    call.state = stops.has(turnId) ? "cancelled" : each.fails ? "failed" : "succeeded";
    call.error = each.fails ?? null;
    call.result = each.result;
    call.result_bytes = JSON.stringify(each.result).length;
    call.finished_at = new Date().toISOString();
    call.duration_ms = pace * 6;
    emit(sessionId, turnId, "chat.tool-result.v1", {
      call_id: call.id,
      state: call.state,
      error: call.error,
      result: each.result,
      preview: JSON.stringify(each.result).slice(0, 200),
      result_bytes: call.result_bytes,
      duration_ms: call.duration_ms,
    });
    announce("calls.changed.v1", { call_id: call.id, state: call.state });
  }
  const message = newId();
  emit(sessionId, turnId, "chat.phase.v1", { phase: "model", round: 2 });
  for (let at = 0; at < answer.length && !stops.has(turnId); at += 18) {
    await pause(pace);
    emit(sessionId, turnId, "chat.text-delta.v1", { message_id: message, text: answer.slice(at, at + 18) });
  }
  const stopped = stops.has(turnId);
  if (!stopped) emit(sessionId, turnId, "chat.message.v1", { message_id: message, text: answer, calls: [] });
  if (session) {
    session.running_turn_id = null;
    session.updated_at = new Date().toISOString();
  }
  emit(sessionId, turnId, "chat.turn-finished.v1", {
    outcome: stopped ? "stopped" : "answered",
    usage: { input_tokens: 812, output_tokens: 96 },
    duration_ms: Date.now() - begin,
  });
}

async function putToAPerson(sessionId: string, turnId: string, call: Call): Promise<Approval> {
  const approval = askFor(call);
  asking.set(turnId, approval);
  const told = { approval_id: approval.id, call_id: call.id };
  emit(sessionId, turnId, "chat.approval.v1", { ...told, state: "pending", decide_by: approval.decide_by });
  await decided(approval);
  asking.delete(turnId);
  emit(sessionId, turnId, "chat.approval.v1", {
    ...told,
    state: approval.state,
    decision: approval.decision,
    decided_by_name: approval.decided_by?.name,
    note: approval.note,
  });
  return approval;
}
