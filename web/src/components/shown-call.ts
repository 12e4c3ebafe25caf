import type { Call } from "../api/types";
import type { ShownCall } from "./CallRow";

/** A call of the API as call rows show it. */
export function shownCall(call: Call): ShownCall {
  return {
    id: call.id,
    tool: call.tool,
    scope: call.scope,
    class: call.class,
    edgeId: call.edge_id ?? null,
    edgeName: call.edge_name ?? null,
    args: call.args,
    state: call.state,
    startedAt: call.started_at,
    error: call.error ?? null,
    errorKind: call.error_kind ?? null,
    preview: call.result_preview ?? null,
    result: call.result ?? undefined,
    resultBytes: call.result_bytes ?? null,
    durationMs: call.duration_ms ?? null,
    sandbox: call.sandbox ?? null,
  };
}
