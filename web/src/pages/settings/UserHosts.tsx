/** Which hosts an account may see and use: all, or those that are chosen by name and by label. */
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { hostsQuery } from "../../api/queries";
import type { User } from "../../api/types";
import { Button } from "../../components/Button";
import { CheckBox, Field, inputLook } from "../../components/Field";
import { Failed, SkeletonRows } from "../../components/States";
import { cx } from "../../lib/cx";
import { isRestricted, parseSelectors, type Reach } from "../../lib/reach";

export function HostsForm({ user, onSave }: { user: User; onSave: (hosts: Reach) => void }) {
  const hosts = useQuery(hostsQuery);
  const [restricted, setRestricted] = useState(isRestricted(user.hosts));
  const [ids, setIds] = useState(user.hosts.edge_ids ?? []);
  const [selectors, setSelectors] = useState((user.hosts.labels ?? []).join("\n"));
  const { labels, problem } = parseSelectors(selectors);
  // One that is gone or out of one's own reach stays as it is.
  const known = hosts.data ?? [];
  const unseen = ids.filter((id) => !known.some((host) => host.id === id));
  const none = ids.length === 0 && labels.length === 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSave(restricted ? { edge_ids: ids, labels } : { edge_ids: [], labels: [] });
  };
  const choose = (id: number, chosen: boolean) =>
    setIds((old) => (chosen ? [...old, id] : old.filter((each) => each !== id)));
  return (
    <form className="flex flex-col gap-4" onSubmit={submit}>
      <CheckBox
        label="Only some hosts"
        hint="Others don't exist for this account: not in lists, chats and calls, and not in what it approves. What it may administer stays."
        checked={restricted}
        onChange={(event) => setRestricted(event.target.checked)}
      />
      {restricted && (
        <>
          <fieldset className="flex max-h-56 flex-col gap-2 overflow-y-auto">
            <legend className="mb-2 text-13 font-medium">Hosts</legend>
            {hosts.error && <Failed what="The hosts could not be read." error={hosts.error} />}
            {hosts.isPending && <SkeletonRows rows={2} />}
            {[...known, ...unseen.map((id) => ({ id, name: `host ${id}` }))].map((host) => (
              <CheckBox
                key={host.id}
                label={host.name}
                checked={ids.includes(host.id)}
                onChange={(event) => choose(host.id, event.target.checked)}
              />
            ))}
          </fieldset>
          <Field
            label="And hosts with these labels"
            hint="One a line: env=staging, or env=prod,role=web for hosts that have both. Hosts that get them later count too."
            error={problem}
          >
            {(field) => (
              <textarea
                {...field}
                rows={3}
                spellCheck={false}
                value={selectors}
                onChange={(event) => setSelectors(event.target.value)}
                className={cx(inputLook, "h-auto w-full py-1 font-mono text-12")}
              />
            )}
          </Field>
        </>
      )}
      <Button
        type="submit"
        look="primary"
        className="self-end"
        disabled={restricted && (none || problem !== null)}
        reason={restricted && none ? "Choose at least one host or label" : null}
      >
        Save
      </Button>
    </form>
  );
}
