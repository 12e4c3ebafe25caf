/** What a card says above its buttons: what would run, where, why it asks, who asks, how long there is. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Eye, Snowflake } from "lucide-react";
import type { Approval, ClassReason } from "../../api/approvals";
import { api, messageOf } from "../../api/client";
import { freezeQuery } from "../../api/queries";
import type { Json } from "../../api/types";
import { askerOf, countdownTo, partOf } from "../../lib/approval";
import { useServerSeconds } from "../../lib/clock";
import { cx } from "../../lib/cx";
import { formatClock, formatUtc, sentence } from "../../lib/format";
import { Button } from "../Button";
import { Inline } from "../Inline";
import { isObject } from "../result/shape";
import { ClassWord, Labels } from "../Words";
import { Arguments } from "./Arguments";

export function Head({ approval, heading }: { approval: Approval; heading: string }) {
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

interface WhatProps {
  approval: Approval;
  /** The arguments with what looks like a secret, once somebody asked for it. */
  revealed: Json | undefined;
  onReveal: (args: Json) => void;
}

export function What({ approval, revealed, onReveal }: WhatProps) {
  const reveal = useMutation({ mutationFn: () => api.reveal(approval.id), onSuccess: onReveal });
  const args = revealed ?? approval.args;
  return (
    <div className="flex flex-col gap-2">
      <Arguments tool={approval.tool} args={args} reasons={approval.reasons} />
      {approval.has_hidden && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-muted">
          {revealed === undefined ? (
            <>
              <span>What looks like a secret is hidden.</span>
              {(approval.may_decide || approval.signing?.may_sign) && (
                <Button
                  size="small"
                  icon={Eye}
                  className="max-md:h-11"
                  busy={reveal.isPending}
                  onClick={() => reveal.mutate()}
                >
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

export function Why({ approval }: { approval: Approval }) {
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
        . {approval.why && <Inline text={sentence(approval.why)} />}
      </p>
      {approval.grant_note && (
        <p className="text-muted">
          <Inline text={sentence(approval.grant_note)} />
        </p>
      )}
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
        <Inline text={reason.text} />
      </span>
    </li>
  );
}

export function FrozenNote() {
  const freeze = useQuery(freezeQuery).data;
  if (!freeze?.frozen) return null;
  return (
    <p className="flex items-start gap-2 text-13 text-mutating">
      <Snowflake aria-hidden size={14} className="mt-[3px] shrink-0" />
      Changes are frozen: what is allowed now starts only if they are unfrozen in time.
    </p>
  );
}
