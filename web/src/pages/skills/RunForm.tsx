import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban, Play, ShieldQuestion, Square } from "lucide-react";
import { useRef, useState } from "react";
import { ApiError, api, messageOf } from "../../api/client";
import { callQuery } from "../../api/queries";
import type { Call, Capability, RunCall } from "../../api/types";
import { isFinal } from "../../api/words";
import { ApprovalCard } from "../../components/approval/ApprovalCard";
import { Button } from "../../components/Button";
import { CallRow } from "../../components/CallRow";
import { CopyButton } from "../../components/Copy";
import { Inline } from "../../components/Inline";
import { Card } from "../../components/Page";
import { SchemaForm } from "../../components/SchemaForm";
import { shownCall } from "../../components/shown-call";
import { toast } from "../../components/toasts";
import { cliCommand, curlCommand } from "../../lib/command-lines";
import { defaults } from "../../lib/schema";

export function RunForm({ capability }: { capability: Capability }) {
  const client = useQueryClient();
  const [call, setCall] = useState<RunCall>(() => ({
    tool: capability.key,
    scope: capability.scope,
    ...(capability.scope === "host"
      ? { edge_id: capability.hosts.find((host) => host.online && host.unmet.length === 0)?.edge_id }
      : {}),
    args: defaults(capability.params),
  }));
  const abort = useRef<AbortController | null>(null);
  const run = useMutation({
    mutationFn: (wanted: RunCall) => {
      abort.current = new AbortController();
      // A call that waits for a person answers at once, and is followed by its id.
      return api.runCall({ ...wanted, wait: false }, abort.current.signal);
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["calls"] }),
  });
  const asked = run.data?.state === "awaiting_approval" ? run.data : null;
  const followed = useQuery({ ...callQuery(asked?.id ?? ""), enabled: asked !== null });
  const ran: Call | undefined = asked ? followed.data : run.data;
  const waiting = asked !== null && (!ran || !isFinal(ran.state));
  const cancel = useMutation({
    mutationFn: (id: string) => api.cancelCall(id),
    onError: (error) => toast(`Could not stop: ${messageOf(error)}`, "error"),
  });
  const stop = () => (asked ? cancel.mutate(asked.id) : abort.current?.abort());
  const stopped = run.error instanceof DOMException && run.error.name === "AbortError";
  return (
    <>
      <Card title="Run it">
        <div className="flex flex-col gap-4 p-4">
          {capability.refused_reason && (
            <p className="flex items-start gap-2 rounded-control border border-line bg-bg px-3 py-2 text-13">
              <Ban aria-hidden size={14} className="mt-[3px] shrink-0 text-mutating" />
              <span>
                A call will be refused and recorded: <Inline text={capability.refused_reason} />
              </span>
            </p>
          )}
          {!capability.refused_reason && asks(capability) && (
            <p className="flex items-start gap-2 text-13 text-muted" data-asks-first>
              <ShieldQuestion aria-hidden size={14} className="mt-[3px] shrink-0 text-mutating" />
              {asks(capability)}
            </p>
          )}
          <SchemaForm
            capability={capability}
            submitLabel="Run"
            busy={run.isPending || waiting}
            onChange={setCall}
            onSubmit={(wanted) => {
              setCall(wanted);
              run.mutate(wanted);
            }}
            told={run.error instanceof ApiError ? run.error.problem.errors : undefined}
            extra={
              run.isPending || waiting ? (
                <Button icon={Square} busy={cancel.isPending} onClick={stop}>
                  Stop
                </Button>
              ) : (
                <span className="inline-flex items-center gap-1 text-12 text-muted">
                  <Play aria-hidden size={12} /> through the same gate as a chat
                </span>
              )
            }
          />
          {asked?.approval_id && (
            // It may stand below what the screen shows; the focus stays where it is.
            <div key={asked.id} ref={intoView}>
              <ApprovalCard id={asked.approval_id} />
            </div>
          )}
          {run.error && (
            <p role="alert" className="text-13 text-danger-text">
              {stopped ? "Stopped." : messageOf(run.error)}
            </p>
          )}
          {asked && followed.error && (
            <p role="alert" className="text-13 text-danger-text">
              {messageOf(followed.error)}
            </p>
          )}
          {ran && !waiting && <CallRow key={ran.id} call={shownCall(ran)} open />}
        </div>
      </Card>
      <Card title="The same call elsewhere">
        <div className="flex flex-col gap-3 p-4">
          <CommandLine name="Command line" text={cliCommand(call)} />
          <CommandLine name="curl" text={curlCommand(call, location.origin)} />
        </div>
      </Card>
    </>
  );
}

function intoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

/** What a call of this skill needs before it runs. */
function asks(capability: Capability): string | null {
  if (capability.classed_by) return "Where it would change something, a person decides first.";
  if (capability.class === "dangerous")
    return "It is dangerous, so it goes by a signed procedure, and two other people sign it first.";
  return capability.class === "mutating"
    ? "It changes something, so a person decides first, unless a standing grant fits."
    : null;
}

function CommandLine({ name, text }: { name: string; text: string }) {
  return (
    <div>
      <h3 className="mb-1 text-12 text-muted">{name}</h3>
      <div className="relative">
        <pre
          tabIndex={0}
          className="overflow-x-auto rounded-control border border-line bg-bg p-2 pr-9 font-mono text-12"
        >
          {text}
        </pre>
        <div className="absolute top-1 right-1 rounded-control bg-bg">
          <CopyButton text={text} label={`Copy for ${name}`} tipSide="left" />
        </div>
      </div>
    </div>
  );
}
