import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Lock, LockOpen } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, messageOf } from "../../api/client";
import type { HostDetail } from "../../api/types";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { Field, TextInput } from "../../components/Field";
import { Card } from "../../components/Page";
import { toast } from "../../components/toasts";
import { useMe } from "../../frame/session";
import { formatLabels, parseLabels } from "../../lib/labels";
import { may } from "../../lib/may";

export function HostSettings({ host }: { host: HostDetail }) {
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(host.name);
  const [labels, setLabels] = useState(formatLabels(host.labels));
  const [asking, setAsking] = useState<"revoke" | "delete" | null>(null);
  const parsed = parseLabels(labels);
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ["hosts"] }),
      client.invalidateQueries({ queryKey: ["host", host.id] }),
    ]);
  const save = useMutation({
    mutationFn: () => api.updateHost(host.id, { name: name.trim(), labels: parsed.labels }),
    onSuccess: async () => {
      await refresh();
      toast("Saved.");
    },
  });
  const rejoin = useMutation({
    mutationFn: () => api.allowRejoin(host.id),
    onSuccess: async () => {
      await refresh();
      toast("The host may rejoin with its old key.");
    },
    onError: (error) => toast(messageOf(error), "error"),
  });
  const readOnly = useMutation({
    mutationFn: (wanted: boolean) => api.setReadOnly(host.id, wanted),
    onSuccess: refresh,
    onError: (error) => toast(messageOf(error), "error"),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!parsed.problem && name.trim()) save.mutate();
  };
  const adminOnly = may.revokeHosts(me);
  return (
    <div className="flex max-w-2xl flex-col gap-4">
      <Card title="Name and labels">
        <form onSubmit={submit} className="flex flex-col gap-3 p-4">
          <Field label="Name">
            {(field) => (
              <TextInput {...field} maxLength={120} value={name} onChange={(event) => setName(event.target.value)} />
            )}
          </Field>
          <Field label="Labels" error={parsed.problem} hint="For example role=db, site=fra">
            {(field) => (
              <TextInput
                {...field}
                className="font-mono"
                value={labels}
                onChange={(event) => setLabels(event.target.value)}
              />
            )}
          </Field>
          {save.error && (
            <p role="alert" className="text-13 text-danger-text">
              {messageOf(save.error)}
            </p>
          )}
          <Button type="submit" look="primary" className="self-start" busy={save.isPending} reason={may.editHosts(me)}>
            Save
          </Button>
        </form>
      </Card>
      <Card title="Read-only">
        <div className="flex flex-wrap items-center justify-between gap-3 p-4 text-13">
          <p className="min-w-0 flex-1 text-muted">
            {host.read_only
              ? "Nothing that changes this host runs on it. Safe calls do."
              : "While a host is read-only, nothing that changes it runs on it, whoever allowed it. Safe calls do."}
          </p>
          <Button
            icon={host.read_only ? LockOpen : Lock}
            busy={readOnly.isPending}
            reason={adminOnly}
            aria-pressed={host.read_only ?? false}
            onClick={() => readOnly.mutate(!host.read_only)}
          >
            {host.read_only ? "Allow changes again" : "Make read-only"}
          </Button>
        </div>
      </Card>
      <Card title="Certificate">
        <div className="flex flex-wrap items-center justify-between gap-3 p-4 text-13">
          <p className="min-w-0 flex-1 text-muted">
            If its certificate ran out while it was off, the host may rejoin by proving its old key.
          </p>
          <Button busy={rejoin.isPending} reason={adminOnly} onClick={() => rejoin.mutate()}>
            Allow to rejoin
          </Button>
        </div>
      </Card>
      <Card title="Take it away">
        <div className="flex flex-col gap-3 p-4 text-13">
          <div className="flex flex-wrap items-center justify-between gap-3">
            <p className="min-w-0 flex-1 text-muted">
              Revoking ends its connection at once; its certificate is never accepted again.
            </p>
            <Button
              look="danger"
              reason={adminOnly ?? (host.state === "revoked" ? "It is revoked already" : null)}
              onClick={() => setAsking("revoke")}
            >
              Revoke
            </Button>
          </div>
          <div className="flex flex-wrap items-center justify-between gap-3">
            <p className="min-w-0 flex-1 text-muted">
              Removing also takes it off the list. The record of its calls stays in the audit.
            </p>
            <Button look="danger" reason={adminOnly} onClick={() => setAsking("delete")}>
              Remove
            </Button>
          </div>
        </div>
      </Card>
      <Confirm
        open={asking === "revoke"}
        onClose={() => setAsking(null)}
        title={`Revoke ${host.name}?`}
        action="Revoke"
        typed={host.name}
        onConfirm={async () => {
          await api.revokeHost(host.id);
          await refresh();
        }}
      >
        <p>Its connection ends at once and running safe calls on it are lost. It comes back only by a new enrolment.</p>
      </Confirm>
      <Confirm
        open={asking === "delete"}
        onClose={() => setAsking(null)}
        title={`Remove ${host.name}?`}
        action="Remove"
        typed={host.name}
        onConfirm={async () => {
          await api.deleteHost(host.id);
          await refresh();
          void navigate({ to: "/hosts" });
        }}
      >
        <p>It is revoked and leaves the list of hosts.</p>
      </Confirm>
    </div>
  );
}
