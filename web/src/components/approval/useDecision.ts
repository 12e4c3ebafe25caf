/** Deciding from a card: once, whatever was clicked how often, and the winner shows if somebody else was first. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import type { Approval, DecisionInput } from "../../api/approvals";
import { api, winnerOf } from "../../api/client";
import { approvalQuery } from "../../api/queries";

export function useDecision(id: string) {
  const client = useQueryClient();
  const sent = useRef(false);
  const keep = (approval: Approval) => {
    client.setQueryData(approvalQuery(id).queryKey, approval);
    void client.invalidateQueries({ queryKey: ["approvals"] });
    void client.invalidateQueries({ queryKey: ["grants"] });
  };
  const { mutate, isPending, isSuccess, error, data } = useMutation({
    mutationFn: async (input: DecisionInput): Promise<{ approval: Approval; late: boolean }> => {
      try {
        return { approval: await api.decide(id, input), late: false };
      } catch (failure) {
        const winner = winnerOf(failure);
        if (winner && winner.state !== "pending") return { approval: winner, late: true };
        throw failure;
      }
    },
    onSuccess: ({ approval }) => keep(approval),
    onError: () => {
      sent.current = false;
      void client.invalidateQueries({ queryKey: approvalQuery(id).queryKey });
    },
  });
  return {
    decide: (input: DecisionInput) => {
      // The state of a mutation shows a moment after the click; this does at once.
      if (sent.current) return;
      sent.current = true;
      mutate(input);
    },
    busy: isPending || isSuccess,
    error,
    /** Somebody else was first. */
    late: data?.late ?? false,
  };
}
