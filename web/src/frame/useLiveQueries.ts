/** Marks queries as out of date when the event stream says that something changed. Bursts are taken together. */
import { type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { type Signal, stream } from "../events/stream";

const TOGETHER_MS = 400;

function keysOf(signal: Signal): QueryKey[] {
  switch (signal.type) {
    case "host-changed":
      return [
        ["hosts"],
        ["capabilities"],
        ["packs"],
        ["enrollment-tokens"],
        ...(signal.edgeId === null ? [] : [["host", signal.edgeId]]),
      ];
    case "packs-changed":
      return [["packs"], ["capabilities"]];
    case "signing-changed":
      return [["sops"], ["approvers"], ["approver-keys"], ["approvals"], ["approval"]];
    case "call-changed":
      return [["calls"], ["density"], ["call", signal.callId]];
    case "approval-changed":
      return [["approvals"], ["grants"], ["approval", signal.approvalId], ["call", signal.callId], ["calls"]];
    case "freeze-changed":
      return [["freeze"], ["hosts"], ["host"]];
    case "turn-event":
      if (signal.event.kind === "chat.approval.v1") return [["approval", signal.event.payload.approval_id]];
      return ["session.updated.v1", "chat.turn-started.v1", "chat.turn-finished.v1"].includes(signal.event.kind)
        ? [["sessions"]]
        : [];
    case "resync":
      return [
        ["hosts"],
        ["host"],
        ["capabilities"],
        ["packs"],
        ["enrollment-tokens"],
        ["calls"],
        ["call"],
        ["density"],
        ["sessions"],
        ["approvals"],
        ["approval"],
        ["grants"],
        ["freeze"],
        ["sops"],
        ["approvers"],
        ["approver-keys"],
      ];
  }
}

function connect(client: QueryClient): () => void {
  const waiting = new Map<string, QueryKey>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    for (const queryKey of waiting.values()) void client.invalidateQueries({ queryKey }, { cancelRefetch: false });
    waiting.clear();
  };
  const stop = stream.onSignal((signal) => {
    for (const key of keysOf(signal)) waiting.set(JSON.stringify(key), key);
    if (waiting.size > 0) timer ??= setTimeout(flush, TOGETHER_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

export function useLiveQueries(): void {
  const client = useQueryClient();
  useEffect(() => connect(client), [client]);
  useEffect(() => {
    stream.start();
    const stopListening = stream.onSignedOut(() => location.reload());
    return () => {
      stopListening();
      stream.stop();
    };
  }, []);
}
