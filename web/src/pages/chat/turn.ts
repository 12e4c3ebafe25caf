/** What a turn says in few words. Pure. */
import type { CallState } from "../../api/types";
import type { ChatCall, Turn } from "../../events/reducer";

const WORDS: Partial<Record<CallState, string>> = { awaiting_approval: "awaiting approval", timed_out: "timed out" };

/** `21 succeeded, 3 failed`, the most frequent first. */
export function countStates(calls: readonly Pick<ChatCall, "state">[]): string {
  const counts = new Map<CallState, number>();
  for (const { state } of calls) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([state, count]) => `${count} ${WORDS[state] ?? state}`)
    .join(", ");
}

/** Everything that the model said in a turn, as it wrote it. */
export function answerOf(turn: Pick<Turn, "parts">): string {
  return turn.parts.flatMap((part) => (part.kind === "text" ? [part.text.trim()] : [])).join("\n\n");
}
