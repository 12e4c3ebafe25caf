/** One call: a line that opens. The same in the chat, on hosts, in the audit's detail and after a run. */
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";
import type { CallState, CapabilityClass, Json, Scope } from "../api/types";
import { useSeconds } from "../lib/clock";
import { cx } from "../lib/cx";
import { formatDuration } from "../lib/format";
import { Id } from "./Copy";
import { useKept } from "./kept";
import { JsonTree } from "./result/JsonTree";
import { ResultView } from "./result/ResultView";
import { gistOf } from "./result/shape";
import { Shown } from "./Shown";
import { useTargets } from "./targets";
import { ClassIcon, StateWord } from "./Words";

export interface ShownCall {
  id: string;
  tool: string;
  scope: Scope | null;
  class: CapabilityClass | null;
  edgeId: number | null;
  edgeName: string | null;
  args: Json;
  state: CallState;
  /** The latest line that it told while it runs. */
  progress?: string | null;
  startedAt: string;
  error: string | null;
  errorKind: string | null;
  preview: string | null;
  result: Json | undefined;
  resultBytes: number | null;
  durationMs: number | null;
  sandbox: string | null;
}

const GIST = 300;

export function CallLine({ call, trailing }: { call: ShownCall; trailing?: ReactNode }) {
  // One line has room for so much at most; the whole is in the row when it is open.
  const gist = gistOf(call.args).slice(0, GIST);
  const targets = useTargets(call);
  return (
    <>
      <ClassIcon value={call.class} />
      <span className="min-w-0 shrink-0 truncate font-mono text-12 font-medium max-md:shrink">
        <Shown text={call.tool} />
      </span>
      {targets && <span className="min-w-0 truncate text-12 text-muted max-md:max-w-24">on {targets}</span>}
      <span className="min-w-0 flex-1 truncate font-mono text-12 text-muted max-md:hidden">
        <Shown text={gist} />
      </span>
      <span className="ml-auto flex shrink-0 items-center gap-3">
        <StateWord value={call.state} />
        <Elapsed call={call} />
        {trailing}
      </span>
    </>
  );
}

function Elapsed({ call }: { call: ShownCall }) {
  return (
    <span className="num w-14 text-12 text-muted max-md:hidden">
      {call.durationMs !== null ? (
        formatDuration(call.durationMs)
      ) : call.state === "running" ? (
        <Running since={call.startedAt} />
      ) : (
        ""
      )}
    </span>
  );
}

function Running({ since }: { since: string }) {
  const now = useSeconds();
  return <>{formatDuration(Math.max(0, now - Date.parse(since)))}</>;
}

export function CallRow({
  call,
  open: initiallyOpen = false,
  nested,
}: {
  call: ShownCall;
  open?: boolean;
  nested?: ReactNode;
}) {
  const [open, setOpen] = useKept(`call.${call.id}`, initiallyOpen);
  const body = useId();
  return (
    <div className="rounded-control border border-line bg-surface" data-call={call.id} data-state={call.state}>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={open ? body : undefined}
        onClick={() => setOpen(!open)}
        className="flex h-8 w-full min-w-0 items-center gap-2 rounded-control px-2 text-left hover:bg-raised"
      >
        <ChevronRight
          aria-hidden
          size={14}
          className={cx("shrink-0 text-muted transition-transform", open && "rotate-90")}
        />
        <CallLine call={call} />
      </button>
      {call.progress && (
        <p className="truncate px-2 pb-1 pl-8 text-12 text-muted" data-progress>
          <Shown text={call.progress} />
        </p>
      )}
      {open && (
        <div id={body} className="border-t border-line p-3">
          <CallBody call={call} />
        </div>
      )}
      {nested && <div className="border-t border-line px-2 py-2 md:pl-8">{nested}</div>}
    </div>
  );
}

const ERROR_WORDS: Partial<Record<CallState, string>> = {
  refused: "Refused",
  invalid: "Invalid arguments",
  denied: "Denied",
  expired: "Expired",
  cancelled: "Cancelled",
};

export function CallBody({ call }: { call: ShownCall }) {
  const hasArgs = call.args !== null && typeof call.args === "object" && Object.keys(call.args).length > 0;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {call.error && (
        <p className="rounded-control border border-line bg-bg px-3 py-2 text-13 break-words">
          <span className="font-medium">
            {ERROR_WORDS[call.state] ?? "Error"}
            {call.errorKind ? ` (${call.errorKind.replaceAll("_", " ")})` : ""}:{" "}
          </span>
          <Shown text={call.error} />
        </p>
      )}
      {(call.state === "succeeded" || call.result !== undefined || call.preview) && (
        <ResultView callId={call.id} result={call.result} preview={call.preview} bytes={call.resultBytes} />
      )}
      <details className="group" open={call.state !== "succeeded"}>
        <summary className="flex w-max items-center gap-1 text-12 text-muted hover:text-text">
          <ChevronRight aria-hidden size={12} className="transition-transform group-open:rotate-90" />
          Arguments and record
        </summary>
        <div className="mt-2 flex flex-col gap-2 pl-4">
          {hasArgs ? <JsonTree value={call.args} depth={3} /> : <p className="text-12 text-muted">No arguments.</p>}
          <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-12 text-muted">
            <span className="inline-flex items-center gap-1">
              call <Id id={call.id} />
            </span>
            {call.edgeId !== null && <span>host {call.edgeId}</span>}
            {call.sandbox && <span>sandbox {call.sandbox}</span>}
            <Link
              to="/admin/audit"
              search={{ call: call.id }}
              className="text-accent-text underline underline-offset-2"
            >
              Show in the audit
            </Link>
          </div>
        </div>
      </details>
    </div>
  );
}
