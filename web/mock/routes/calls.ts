/** Skills, calls, the audit, and what the policy says of a call. */

import type { StepName } from "../../src/api/signing";
import type { Call } from "../../src/api/types";
import { stepText } from "../../src/lib/signing";
import { approvals, askFor, decided, reasonsOf, settle } from "../approvals";
import { ago, calls, capabilities, makeCall } from "../data";
import { type Body, found, page, type Route } from "../http";
import { packs } from "../packs";
import { covering, namedProcedure, reopenedCalls, signingOf } from "../signing";
import { announce } from "../turns";

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
  const sop = body.sop as StepName | undefined;
  const covered = covering(call as Parameters<typeof covering>[0]);
  if (capability.class === "dangerous" && !(sop && namedProcedure(sop.id, sop.step))) {
    call.state = "refused";
    call.result = undefined;
    call.error = `a dangerous call names a signed procedure; ${
      covered.length > 0
        ? `these cover it: ${covered.map(stepText).join(", ")}`
        : "none covers it, so one has to be imported"
    }`;
  } else if (sop) {
    const signing = signingOf(2, namedProcedure(sop.id, sop.step) ?? null);
    call.class = "dangerous";
    const asked = decided(askFor(call, { class: "dangerous", signing, may_always: false }, 1_800));
    if (body.wait !== false) await asked;
    return call;
  }
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

function explain(body: Body) {
  const capability = found(
    capabilities.find((each) => each.key === body.tool && each.scope === (body.scope ?? "host")),
    "capability",
  );
  const reasons = reasonsOf(body.args);
  const mutating = capability.class === "mutating" || capability.key === "bash";
  const dangerous = capability.class === "dangerous";
  const covered = body.sop && namedProcedure(body.sop.id, body.sop.step);
  return {
    decision: dangerous && !covered ? "deny" : dangerous || mutating ? "ask" : "run",
    class: dangerous ? "dangerous" : mutating ? "mutating" : "safe",
    class_reasons: reasons,
    rule: `security.tool_policy.groups.${capability.category} = class`,
    reason: dangerous
      ? covered
        ? "the procedure covers it, and two approvers sign it"
        : "dangerous calls name a signed procedure; this one names none"
      : mutating
        ? "calls of class mutating need one approval"
        : "calls of class safe run without asking",
    approval: covered
      ? { who: "two approvers, each by signature, neither of them who asks", grant_id: null }
      : mutating
        ? { who: "you, or an approver", grant_id: null }
        : null,
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

export const callRoutes: Route[] = [
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
          ...(reopenedCalls.has(call.id)
            ? [
                row(122, "approval.reopened", {
                  why: "The host's edge has restarted, which voids its nonce and with it every signature.",
                  void_signatures_of: reopenedCalls.get(call.id),
                }),
              ]
            : []),
          ...approvals
            .filter((each) => each.call_id === call.id && each.state !== "pending")
            .map((each) => row(122, "approval.decided", { decision: each.decision, note: each.note })),
          row(123, "call.finished", { state: call.state }),
        ],
        children: [],
      };
    },
  ],
  [
    "GET",
    /^\/calls\/([^/]+)\/result$/,
    ({ params, query }) => {
      const call = found(
        calls.find((each) => each.id === params[0]),
        "call",
      );
      const text = JSON.stringify(call.result ?? null);
      const offset = Number(query.get("offset") ?? 0);
      const end = offset + Number(query.get("limit") ?? 262_144);
      return {
        text: text.slice(offset, end),
        total_bytes: text.length,
        next_offset: end < text.length ? end : null,
      };
    },
  ],
  ["GET", /^\/audit\/density$/, ({ query }) => density(query)],
  ["GET", /^\/audit\/verify$/, () => ({ ok: true, rows: 4312, through_seq: 4312 })],
  ["POST", /^\/policy\/explain$/, ({ body }) => explain(body)],
  [
    "POST",
    /^\/calls\/([^/]+)\/cancel$/,
    ({ params }) => {
      const approval = approvals.find((each) => each.call_id === params[0]);
      if (approval) settle(approval, { state: "withdrawn", call_state: "cancelled" });
    },
  ],
];
