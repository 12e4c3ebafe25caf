/**
 * One decision: what would run, where, why it asks, who asks, and the buttons. The same in a chat's turn, in the inbox,
 * beside a form and on its own page. It never takes the focus; `a` and `d` work only while the card itself has it.
 */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Ban, Check, CheckCheck, Eye, Snowflake } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Approval, ClassReason, DecisionInput } from "../../api/approvals";
import { ApiError, api, messageOf } from "../../api/client";
import { approvalQuery, freezeQuery } from "../../api/queries";
import type { Json } from "../../api/types";
import { inChord } from "../../frame/chord";
import { askerOf, countdownTo, partOf, whyNot } from "../../lib/approval";
import { serverNow, useServerSeconds } from "../../lib/clock";
import { cx } from "../../lib/cx";
import { formatClock, formatUtc, sentence } from "../../lib/format";
import { Button } from "../Button";
import { TextInput } from "../Field";
import { Popover } from "../Popover";
import { isObject } from "../result/shape";
import { ClassWord, Labels } from "../Words";
import { AlwaysForm } from "./AlwaysForm";
import { Arguments } from "./Arguments";
import { DecidedCard } from "./DecidedCard";
import { useDecision } from "./useDecision";

/** A card that has just appeared doesn't take the click that was meant for what stood there before. */
const SETTLE_MS = 400;
const NOTE_MAX = 2000;

/** The card of an approval by its id: read, kept current, and told when it can't be. */
export function ApprovalCard({
  id,
  known,
  knownAt,
  whole,
}: {
  id: string;
  /** What a list said of it, and when it was read. */
  known?: Approval;
  knownAt?: number;
  whole?: boolean;
}) {
  const query = useQuery({ ...approvalQuery(id), initialData: known, initialDataUpdatedAt: knownAt });
  if (query.data) return <Card key={id} approval={query.data} whole={whole} />;
  if (query.error) {
    const hidden = query.error instanceof ApiError && [403, 404].includes(query.error.status);
    return (
      <p role="alert" className="rounded-card border border-line bg-surface px-4 py-3 text-13 text-muted">
        {hidden ? "A decision is asked for here that you may not see." : messageOf(query.error)}{" "}
        {!hidden && (
          <button type="button" className="underline underline-offset-2" onClick={() => void query.refetch()}>
            Try again
          </button>
        )}
      </p>
    );
  }
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-2 rounded-card border border-line p-4">
      <div className="skeleton h-4 w-2/3" />
      <div className="skeleton h-12 w-full" />
      <div className="skeleton h-8 w-1/2" />
    </div>
  );
}

function Card({ approval, whole }: { approval: Approval; whole?: boolean }) {
  const card = useRef<HTMLElement>(null);
  const heading = useId();
  const decision = useDecision(approval.id);
  const pending = approval.state === "pending";
  const [settled, setSettled] = useState(!pending);
  const [note, setNote] = useState("");
  const acted = useRef(false);

  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  // The button that was pressed is gone; whoever pressed it goes on from the card.
  useLayoutEffect(() => {
    if (pending || !acted.current) return;
    acted.current = false;
    if (document.activeElement === document.body || card.current?.contains(document.activeElement)) {
      card.current?.focus({ preventScroll: true });
    }
  }, [pending]);

  const decide = (input: DecisionInput) => {
    acted.current = true;
    decision.decide({ ...input, ...(note.trim() ? { note: note.trim() } : {}) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== card.current || event.repeat || inChord()) return;
    if (event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return;
    if (event.key !== "a" && event.key !== "d") return;
    event.preventDefault();
    event.stopPropagation();
    // Whoever gave the card the focus meant it; there is nothing to settle.
    if (decision.busy || whyNot(approval, serverNow()) !== null) return;
    decide({ decision: event.key === "a" ? "allow_once" : "deny" });
  };

  return (
    <article
      ref={card}
      tabIndex={0}
      data-row
      data-approval={approval.id}
      data-approval-state={approval.state}
      aria-labelledby={heading}
      aria-keyshortcuts={pending && approval.may_decide ? "A D" : undefined}
      onKeyDown={onKeyDown}
      className={cx(
        "min-w-0 rounded-card border bg-surface",
        pending ? "border-mutating/50" : "border-line",
        pending && approval.class === "dangerous" && "border-dangerous/50",
      )}
    >
      {pending ? (
        <div className="flex flex-col gap-3 p-4">
          <Head approval={approval} heading={heading} />
          <What approval={approval} />
          <Why approval={approval} />
          <FrozenNote />
          <Buttons
            approval={approval}
            settled={settled}
            busy={decision.busy}
            note={note}
            onNote={setNote}
            onDecide={decide}
          />
          {decision.error && (
            <p role="alert" className="text-13 text-danger-text">
              {messageOf(decision.error)}
            </p>
          )}
        </div>
      ) : (
        <DecidedCard approval={approval} heading={heading} late={decision.late} whole={whole}>
          <What approval={approval} />
          <Why approval={approval} />
        </DecidedCard>
      )}
    </article>
  );
}

function Head({ approval, heading }: { approval: Approval; heading: string }) {
  return (
    <header className="flex flex-col gap-1">
      <div className="flex items-start justify-between gap-3">
        <h2 id={heading} className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5 text-14 font-medium">
          <span className="font-mono text-13 break-all">{approval.tool}</span>
          <span className="font-normal text-muted">{approval.scope === "manager" ? "in the manager" : "on"}</span>
          {approval.edge_name && <span className="break-all">{approval.edge_name}</span>}
        </h2>
        <Countdown decideBy={approval.decide_by} />
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-muted">
        <ClassWord value={approval.class} />
        <Labels labels={approval.edge_labels ?? {}} />
      </div>
    </header>
  );
}

function Countdown({ decideBy }: { decideBy: string }) {
  const left = countdownTo(decideBy, useServerSeconds());
  return (
    <span
      role="timer"
      aria-live="off"
      aria-label={`Time left to decide: ${left.text}`}
      title={`Until ${formatClock(new Date(decideBy))} (${formatUtc(decideBy)})`}
      data-countdown
      className={cx("shrink-0 pt-0.5 text-13 tabular", left.urgent ? "font-medium text-mutating" : "text-muted")}
    >
      {left.over ? "time is up" : left.text}
    </span>
  );
}

function What({ approval }: { approval: Approval }) {
  const [revealed, setRevealed] = useState<Json | undefined>();
  const reveal = useMutation({ mutationFn: () => api.reveal(approval.id), onSuccess: setRevealed });
  const args = revealed ?? approval.args;
  return (
    <div className="flex flex-col gap-2">
      <Arguments tool={approval.tool} args={args} reasons={approval.reasons} />
      {approval.has_hidden && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-muted">
          {revealed === undefined ? (
            <>
              <span>What looks like a secret is hidden.</span>
              {approval.may_decide && (
                <Button size="small" icon={Eye} busy={reveal.isPending} onClick={() => reveal.mutate()}>
                  Reveal
                </Button>
              )}
            </>
          ) : (
            <span>Shown as it would run. The audit keeps that you looked.</span>
          )}
          {reveal.error && (
            <span role="alert" className="text-danger-text">
              {messageOf(reveal.error)}
            </span>
          )}
        </div>
      )}
    </div>
  );
}

function Why({ approval }: { approval: Approval }) {
  const command = isObject(approval.args) && typeof approval.args.command === "string" ? approval.args.command : null;
  return (
    <div className="flex flex-col gap-1.5 text-13">
      {approval.reasons.length > 0 && (
        <ul aria-label={`Why it is ${approval.class}`} className="flex flex-col gap-0.5">
          {approval.reasons.map((reason, index) => (
            <Reason key={index} reason={reason} command={command} />
          ))}
        </ul>
      )}
      <p className="text-muted">
        <span className="text-text">Asked by {askerOf(approval)}</span>
        {approval.session_id ? (
          <>
            {" "}
            in{" "}
            <Link
              to="/chat/$sessionId"
              params={{ sessionId: approval.session_id }}
              className="underline underline-offset-2 hover:text-text"
            >
              {approval.session_title || "a chat"}
            </Link>
          </>
        ) : (
          ` over the ${approval.origin === "cli" ? "command line" : approval.origin === "api" ? "API" : approval.origin}`
        )}
        . {approval.why && sentence(approval.why)}
      </p>
      {approval.grant_note && <p className="text-muted">{sentence(approval.grant_note)}</p>}
    </div>
  );
}

function Reason({ reason, command }: { reason: ClassReason; command: string | null }) {
  const part = command === null ? null : partOf(command, reason);
  return (
    <li className="flex items-baseline gap-2 text-12 text-muted">
      <span aria-hidden className="size-1 shrink-0 translate-y-[-3px] rounded-full bg-mutating" />
      <span className="min-w-0 break-words">
        {part !== null && <code className="mr-2 font-mono break-all text-text">{part}</code>}
        {reason.text}
      </span>
    </li>
  );
}

function FrozenNote() {
  const freeze = useQuery(freezeQuery).data;
  if (!freeze?.frozen) return null;
  return (
    <p className="flex items-start gap-2 text-13 text-mutating">
      <Snowflake aria-hidden size={14} className="mt-[3px] shrink-0" />
      Changes are frozen: what is allowed now starts only if they are unfrozen in time.
    </p>
  );
}

interface ButtonsProps {
  approval: Approval;
  settled: boolean;
  busy: boolean;
  note: string;
  onNote: (note: string) => void;
  onDecide: (input: DecisionInput) => void;
}

function Buttons({ approval, settled, busy, note, onNote, onDecide }: ButtonsProps) {
  const reason = whyNot(approval, useServerSeconds());
  if (reason !== null)
    return (
      <p className="flex items-start gap-2 rounded-control border border-line bg-bg px-3 py-2 text-13" data-may-not>
        <Ban aria-hidden size={14} className="mt-[3px] shrink-0 text-muted" />
        {sentence(reason)}
      </p>
    );
  const disabled = busy || !settled;
  const big = "max-md:h-11";
  const exact = approval.args_scope_fixed ? "exactly this command" : "this tool";
  return (
    <div className="flex flex-col gap-2">
      <div className="grid grid-cols-2 gap-2 md:flex md:flex-wrap">
        <Button
          look="primary"
          icon={Check}
          busy={busy}
          disabled={disabled}
          className={cx(big, "max-md:col-span-2")}
          onClick={() => onDecide({ decision: "allow_once" })}
        >
          Allow once
        </Button>
        {approval.session_id && approval.may_always && (
          <Button
            disabled={disabled}
            title={`For the rest of this chat, ${exact} runs on ${approval.edge_name ?? "the manager"} without asking`}
            className={big}
            onClick={() => onDecide({ decision: "allow_chat" })}
          >
            Allow in this chat
          </Button>
        )}
        {approval.may_always && (
          <Popover
            label={`Always allow ${approval.tool}`}
            role="dialog"
            align="start"
            className="max-h-[80dvh] w-80 max-w-[calc(100vw-16px)] overflow-y-auto p-3"
            button={(button) => (
              <Button icon={CheckCheck} disabled={disabled} className={big} {...button}>
                Always…
              </Button>
            )}
          >
            {(close) => (
              <AlwaysForm
                approval={approval}
                onAllow={(grant) => {
                  close();
                  onDecide({ decision: "allow_always", grant });
                }}
              />
            )}
          </Popover>
        )}
      </div>
      <div className="flex gap-2">
        <TextInput
          aria-label="Note with the decision (optional)"
          placeholder={approval.by_model ? "Note to the model (optional)" : "Note (optional)"}
          maxLength={NOTE_MAX}
          disabled={busy}
          value={note}
          onChange={(event) => onNote(event.target.value)}
          className={cx("min-w-0 flex-1", big)}
        />
        <Button
          look="danger"
          icon={Ban}
          disabled={disabled}
          className={big}
          onClick={() => onDecide({ decision: "deny" })}
        >
          Deny
        </Button>
      </div>
      <p className="text-12 text-muted max-md:hidden">
        With the card focused, <Key>a</Key> allows once and <Key>d</Key> denies.
      </p>
    </div>
  );
}

function Key({ children }: { children: string }) {
  return <kbd className="rounded-[4px] border border-line bg-raised px-1 font-sans">{children}</kbd>;
}
