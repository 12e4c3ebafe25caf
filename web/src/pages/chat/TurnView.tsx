/** One turn: what was asked, what the model said, its calls, the answer. */
import { Link } from "@tanstack/react-router";
import { Info } from "lucide-react";
import { Fragment, memo } from "react";
import { ApprovalCard } from "../../components/approval/ApprovalCard";
import { CallRow } from "../../components/CallRow";
import { CopyButton } from "../../components/Copy";
import { Markdown } from "../../components/markdown/Markdown";
import { Shown } from "../../components/Shown";
import { askedOf, type ChatCall, childrenOf, type Part, type Turn, waitingIn } from "../../events/reducer";
import type { Outcome } from "../../events/types";
import { formatDuration } from "../../lib/format";
import { shownText } from "../../lib/hidden";
import { FanOut } from "./FanOut";
import { answerOf, countStates } from "./turn";

export const TurnView = memo(function TurnView({ turn, last }: { turn: Turn; last: boolean }) {
  return (
    <article data-turn={turn.id} aria-label={turn.user ? `Turn: ${shownText(turn.user.text.slice(0, 80))}` : "Turn"}>
      <div className="mx-auto flex max-w-[760px] flex-col gap-3 py-4">
        {turn.user && <UserMessage text={turn.user.text} />}
        {groupParts(turn).map((group) =>
          Array.isArray(group) ? (
            <Calls key={group[0]?.id} calls={group} turn={turn} />
          ) : (
            <PartView key={group.kind === "text" ? group.messageId : group.id} part={group} />
          ),
        )}
        <TurnFoot turn={turn} last={last} />
      </div>
    </article>
  );
});

function UserMessage({ text }: { text: string }) {
  return (
    <div className="group/said flex max-w-[85%] items-start gap-1 self-end">
      <span className="mt-1 opacity-0 group-focus-within/said:opacity-100 group-hover/said:opacity-100">
        <CopyButton text={text} label="Copy what was asked" tipSide="left" />
      </span>
      <div className="min-w-0 rounded-card bg-raised px-3 py-2 break-words whitespace-pre-wrap" data-user-message>
        <Shown text={text} />
      </div>
    </div>
  );
}

/** Calls of one round that follow one another ran side by side, and stand together. */
function groupParts(turn: Turn): (Exclude<Part, { kind: "call" }> | ChatCall[])[] {
  const groups: (Exclude<Part, { kind: "call" }> | ChatCall[])[] = [];
  for (const part of turn.parts) {
    if (part.kind !== "call") {
      groups.push(part);
      continue;
    }
    const call = turn.calls[part.callId];
    if (!call) continue;
    const before = groups.at(-1);
    if (Array.isArray(before) && before[0]?.round === call.round) before.push(call);
    else groups.push([call]);
  }
  return groups;
}

function Calls({ calls, turn }: { calls: ChatCall[]; turn: Turn }) {
  const many = calls.length > 1;
  return (
    <div
      className="flex flex-col gap-1"
      role="group"
      aria-label={many ? `${calls.length} calls side by side` : "A call"}
      data-parallel={many ? calls.length : undefined}
    >
      {many && (
        <p className="text-12 text-muted">
          {calls.length} calls side by side: {countStates(calls)}
        </p>
      )}
      {calls.map((call) => {
        const children = childrenOf(turn, call.id);
        return (
          <Fragment key={call.id}>
            <CallRow call={call} nested={children.length > 1 ? <FanOut calls={children} /> : undefined} />
            {askedOf(turn, call).map(
              (asked) => asked.approval && <ApprovalCard key={asked.id} id={asked.approval.id} />,
            )}
          </Fragment>
        );
      })}
    </div>
  );
}

function PartView({ part }: { part: Exclude<Part, { kind: "call" }> }) {
  if (part.kind === "notice") {
    return (
      <p className="flex items-start gap-2 text-13 text-muted">
        <Info aria-hidden size={14} className="mt-[3px] shrink-0" />
        <span className="min-w-0 break-words">
          <Shown text={part.text} />
        </span>
      </p>
    );
  }
  return (
    <div data-answer>
      {part.reasoning && (
        <p className="mb-2 border-l-2 border-line pl-3 text-13 break-words whitespace-pre-wrap text-muted">
          <Shown text={part.reasoning} />
        </p>
      )}
      <Markdown text={part.text} streaming={!part.complete} />
    </div>
  );
}

const OUTCOMES: Record<Exclude<Outcome, "answered">, string> = {
  stopped: "Stopped.",
  failed: "The turn failed.",
  limited: "The turn reached its limit.",
  interrupted: "The manager restarted during this turn.",
};

function TurnFoot({ turn, last }: { turn: Turn; last: boolean }) {
  if (turn.phase !== "done") {
    return (
      <p className="late flex items-center gap-2 text-13 text-muted" data-working>
        <span aria-hidden className="pulse-dot size-2 rounded-full bg-accent" />
        {workingWord(turn)}
      </p>
    );
  }
  const answer = answerOf(turn);
  const facts = [
    turn.durationMs !== null && formatDuration(turn.durationMs),
    turn.usage &&
      turn.usage.input_tokens + turn.usage.output_tokens > 0 &&
      `${(turn.usage.input_tokens + turn.usage.output_tokens).toLocaleString("en-GB")} tokens`,
    turn.model && !turn.model.builtin && turn.model.provider !== "command" && turn.model.model,
  ].filter(Boolean);
  return (
    <div className="flex flex-col gap-1">
      {turn.outcome && turn.outcome !== "answered" && (
        <p
          className="flex items-start gap-2 rounded-control border border-line px-3 py-2 text-13"
          data-outcome={turn.outcome}
        >
          <Info aria-hidden size={14} className="mt-[3px] shrink-0 text-mutating" />
          <span>
            {OUTCOMES[turn.outcome]} {turn.reason && <Shown text={turn.reason} />}
          </span>
        </p>
      )}
      <div className="flex items-start gap-2">
        <p className="min-w-0 flex-1 text-12 leading-6 text-muted">
          {turn.model?.builtin && turn.model.provider !== "command" && last && (
            <>
              Answered by the built-in router: rules, not a language model.{" "}
              <Link to="/settings/models" className="underline underline-offset-2 hover:text-text">
                Models
              </Link>
              {facts.length > 0 && " · "}
            </>
          )}
          <span className="tabular">{facts.join(" · ")}</span>
        </p>
        {answer !== "" && <CopyButton text={answer} label="Copy the answer" tipSide="left" />}
      </div>
    </div>
  );
}

function workingWord(turn: Turn): string {
  if (turn.phase === "waiting") return "Starting";
  const waiting = waitingIn(turn);
  if (waiting > 0) return waiting === 1 ? "Waits for a decision" : `Waits for ${waiting} decisions`;
  if (turn.phase === "tools") {
    const running = Object.values(turn.calls).filter((call) => call.state === "running").length;
    return running > 0 ? `Waiting for ${running === 1 ? "a call" : `${running} calls`}` : "Reading the results";
  }
  return turn.round > 1 ? "Writing the answer" : "Choosing what to run";
}
