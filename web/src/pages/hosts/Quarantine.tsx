/** A cloned identity: a person decides which instance is the true one. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ShieldAlert } from "lucide-react";
import { useState } from "react";
import { api, messageOf } from "../../api/client";
import type { HostDetail } from "../../api/types";
import { Button } from "../../components/Button";
import { Field, TextInput } from "../../components/Field";
import { useMe } from "../../frame/session";
import { may } from "../../lib/may";

export function Quarantine({ host }: { host: HostDetail }) {
  const client = useQueryClient();
  const reason = may.revokeHosts(useMe());
  const [instance, setInstance] = useState(host.instance ?? "");
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
          <div className="w-72 max-w-full">
            <Field label="Instance to keep">
              {(field) => (
                <TextInput
                  {...field}
                  className="font-mono"
                  value={instance}
                  onChange={(event) => setInstance(event.target.value)}
                />
              )}
            </Field>
          </div>
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
