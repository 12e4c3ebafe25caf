/** One turn: what was asked, what the model said, its calls, the answer. */
import { Link } from "@tanstack/react-router";
import { Info } from "lucide-react";
import { Fragment, memo } from "react";
import { ApprovalCard } from "../../components/approval/ApprovalCard";
import { CallRow } from "../../components/CallRow";
import { Markdown } from "../../components/Markdown";
import { askedOf, childrenOf, type Part, type Turn, waitingIn } from "../../events/reducer";
import type { Outcome } from "../../events/types";
import { formatDuration } from "../../lib/format";
import { FanOut } from "./FanOut";

export const TurnView = memo(function TurnView({ turn, last }: { turn: Turn; last: boolean }) {
  return (
    <article
      data-turn={turn.id}
      aria-label={turn.user ? `Turn: ${turn.user.text.slice(0, 80)}` : "Turn"}
      // Turns far off the screen cost no layout; the last one grows and must be measured.
      className={last ? undefined : "[contain-intrinsic-size:auto_320px] [content-visibility:auto]"}
    >
      <div className="mx-auto flex max-w-[760px] flex-col gap-3 py-4">
        {turn.user && (
          <div
            className="max-w-[85%] self-end rounded-card bg-raised px-3 py-2 break-words whitespace-pre-wrap"
            data-user-message
          >
            {turn.user.text}
          </div>
        )}
        {groupParts(turn.parts).map((group) =>
          Array.isArray(group) ? (
            <Calls key={group[0]?.kind === "call" ? group[0].callId : ""} parts={group} turn={turn} />
          ) : (
            <PartView
              key={group.kind === "text" ? group.messageId : group.kind === "notice" ? group.id : group.callId}
              part={group}
            />
          ),
        )}
        <TurnFoot turn={turn} last={last} />
      </div>
    </article>
  );
});

/** Calls that follow one another stand together. */
function groupParts(parts: Part[]): (Part | Part[])[] {
  const groups: (Part | Part[])[] = [];
  for (const part of parts) {
    const before = groups.at(-1);
    if (part.kind !== "call") groups.push(part);
    else if (Array.isArray(before)) before.push(part);
    else groups.push([part]);
  }
  return groups;
}

function Calls({ parts, turn }: { parts: Part[]; turn: Turn }) {
  return (
    <div className="flex flex-col gap-1">
      {parts.map((part) => {
        const call = part.kind === "call" ? turn.calls[part.callId] : undefined;
        if (!call) return null;
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

function PartView({ part }: { part: Part }) {
  if (part.kind === "notice") {
    return (
      <p className="flex items-start gap-2 text-13 text-muted">
        <Info aria-hidden size={14} className="mt-[3px] shrink-0" />
        {part.text}
      </p>
    );
  }
  if (part.kind !== "text") return null;
  return (
    <div data-answer>
      {part.reasoning && (
        <p className="mb-2 border-l-2 border-line pl-3 text-13 whitespace-pre-wrap text-muted">{part.reasoning}</p>
      )}
      <Markdown text={part.text} />
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
            {OUTCOMES[turn.outcome]} {turn.reason}
          </span>
        </p>
      )}
      <p className="text-12 text-muted">
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
