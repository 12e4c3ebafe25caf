/** A cloned identity: a person decides which instance is the true one. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ShieldAlert } from "lucide-react";
import { useState } from "react";
import { api, messageOf } from "../../api/client";
import type { HostDetail } from "../../api/types";
import { Button } from "../../components/Button";
import { useMe } from "../../frame/session";
import { may } from "../../lib/may";

export function Quarantine({ host }: { host: HostDetail }) {
  const client = useQueryClient();
  const reason = may.revokeHosts(useMe());
  const [instance, setInstance] = useState("");
  const resolve = useMutation({
    mutationFn: () => api.resolveQuarantine(host.id, instance),
    onSuccess: () => client.invalidateQueries({ queryKey: ["host", host.id] }),
  });
  return (
    <section className="flex gap-3 rounded-card border border-mutating/50 bg-surface p-4">
      <ShieldAlert aria-hidden size={16} className="mt-0.5 shrink-0 text-mutating" />
      <div className="flex min-w-0 flex-1 flex-col gap-3">
        <div>
          <h2 className="font-medium">This host is quarantined</h2>
          <p className="text-13 text-muted">
            {host.state_reason ?? "Something about its identity is not right."} No call runs on it until an admin
            decides which instance is the true one.
          </p>
        </div>
        <form
          className="flex flex-wrap items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            resolve.mutate();
          }}
        >
          <fieldset className="flex min-w-60 flex-col gap-1.5 text-13">
            <legend className="mb-1 font-medium">Instance to keep</legend>
            {(host.instances ?? []).map((each) => (
              <label key={each} className="flex items-center gap-2 font-mono text-12">
                <input
                  type="radio"
                  name="instance"
                  className="accent-accent"
                  checked={instance === each}
                  onChange={() => setInstance(each)}
                />
                {each}
                {each === host.instance && <span className="font-sans text-muted">connected</span>}
              </label>
            ))}
            {(host.instances ?? []).length === 0 && (
              <p className="text-muted">None is connected. Start the true one, then choose it here.</p>
            )}
          </fieldset>
          <Button type="submit" busy={resolve.isPending} reason={reason} disabled={!instance}>
            Keep this one
          </Button>
        </form>
        {resolve.error && (
          <p role="alert" className="text-13 text-danger-text">
            {messageOf(resolve.error)}
          </p>
        )}
      </div>
    </section>
  );
}
