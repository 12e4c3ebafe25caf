import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Ban, Play, Square } from "lucide-react";
import { useRef, useState } from "react";
import { ApiError, api, messageOf } from "../../api/client";
import type { Capability, RunCall } from "../../api/types";
import { Button } from "../../components/Button";
import { CallRow } from "../../components/CallRow";
import { CopyButton } from "../../components/Copy";
import { Inline } from "../../components/Inline";
import { Card } from "../../components/Page";
import { SchemaForm } from "../../components/SchemaForm";
import { shownCall } from "../../components/shown-call";
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
      return api.runCall(wanted, abort.current.signal);
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["calls"] }),
  });
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
          <SchemaForm
            capability={capability}
            submitLabel="Run"
            busy={run.isPending}
            onChange={setCall}
            onSubmit={(wanted) => {
              setCall(wanted);
              run.mutate(wanted);
            }}
            told={run.error instanceof ApiError ? run.error.problem.errors : undefined}
            extra={
              run.isPending ? (
                <Button icon={Square} onClick={() => abort.current?.abort()}>
                  Stop
                </Button>
              ) : (
                <span className="inline-flex items-center gap-1 text-12 text-muted">
                  <Play aria-hidden size={12} /> through the same gate as a chat
                </span>
              )
            }
          />
          {run.error && (
            <p role="alert" className="text-13 text-danger-text">
              {stopped ? "Stopped." : messageOf(run.error)}
            </p>
          )}
          {run.data && <CallRow key={run.data.id} call={shownCall(run.data)} open />}
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
