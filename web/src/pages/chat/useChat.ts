/** Sending, stopping and queueing in one chat. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, api, messageOf } from "../../api/client";
import { sessionsQuery } from "../../api/queries";
import { toast } from "../../components/toasts";
import { conversations, useConversation } from "../../events/conversations";
import { isRunning } from "../../events/reducer";

export function useChat(sessionId: string) {
  const client = useQueryClient();
  const open = useConversation(sessionId);
  const turns = open?.conversation.turns ?? [];
  const last = turns.at(-1);
  const running = isRunning(last);
  const [queued, setQueued] = useState<string | null>(null);
  const [sent, setSent] = useState(0);

  const submit = useMutation({
    mutationFn: (text: string) => api.submitTurn(sessionId, text),
    onSuccess: () => void client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
    onError: (error, text) => {
      // A turn runs already, perhaps from another tab: the message waits for its end.
      if (error instanceof ApiError && error.status === 409) setQueued(text);
      else toast(`Not sent: ${messageOf(error)}`, "error");
      void conversations.read(sessionId);
    },
  });
  const stop = useMutation({
    mutationFn: (turn: string) => api.stopTurn(turn),
    onError: (error) => toast(`Could not stop: ${messageOf(error)}`, "error"),
  });

  const { mutate, isPending } = submit;
  useEffect(() => {
    if (queued === null || running || isPending) return;
    setQueued(null);
    mutate(queued);
  }, [queued, running, isPending, mutate]);

  const state = useRef({ busy: false, last: "" });
  state.current = { busy: running || isPending, last: last?.id ?? "" };
  // These stay the same while text streams in, so that what doesn't change isn't drawn again.
  const send = useCallback(
    (text: string) => {
      setSent((count) => count + 1);
      if (state.current.busy) setQueued(text);
      else mutate(text);
    },
    [mutate],
  );
  const stopNow = stop.mutate;
  const stopLast = useCallback(() => {
    if (state.current.last) stopNow(state.current.last);
  }, [stopNow]);
  const dropQueued = useCallback(() => setQueued(null), []);

  return {
    open,
    turns,
    running,
    sending: isPending,
    queued,
    /** Messages sent from here. */
    sent,
    send,
    dropQueued,
    stop: stopLast,
    stopping: stop.isPending,
  };
}

export type Chat = ReturnType<typeof useChat>;
