import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Snowflake } from "lucide-react";
import { api, messageOf } from "../../api/client";
import { freezeQuery, meQuery } from "../../api/queries";
import type { AccessMode } from "../../api/types";
import { Button } from "../../components/Button";
import { Page } from "../../components/Page";
import { Failed } from "../../components/States";
import { useFrame } from "../../frame/actions";
import { UnfreezeButton } from "../../frame/Freeze";
import { useMe } from "../../frame/session";
import { cx } from "../../lib/cx";
import { may } from "../../lib/may";

const MODES: { mode: AccessMode; name: string; what: string }[] = [
  { mode: "off", name: "Off", what: "Nobody chats. Forms, the API and the command line go on working." },
  { mode: "admins", name: "Admins", what: "Only admins chat." },
  { mode: "all-users", name: "Everybody", what: "Whoever has an account chats, with the rights of their roles." },
];

export function AccessPage() {
  const me = useMe();
  const client = useQueryClient();
  const reason =
    may.administer(me) ?? (me.access.pinned ? "Fixed by TOOLS_ACCESS_MODE in the manager's environment" : null);
  const choose = useMutation({
    mutationFn: (mode: AccessMode) => api.setAccess(mode),
    onSuccess: () => client.invalidateQueries({ queryKey: meQuery.queryKey }),
  });
  return (
    <Page title="Access and freeze">
      <fieldset
        disabled={Boolean(reason) || choose.isPending}
        className="flex max-w-xl flex-col gap-2 px-4 pb-6 md:px-6"
      >
        <legend className="mb-3 text-13 text-muted">
          Who may chat, and so let a model run safe calls in their name.
        </legend>
        {MODES.map(({ mode, name, what }) => {
          const on = me.access.mode === mode;
          return (
            <label
              key={mode}
              className={cx(
                "flex items-start gap-3 rounded-card border p-4",
                on ? "border-accent bg-surface" : "border-line",
                reason ? "opacity-70" : "cursor-pointer hover:border-muted/50",
              )}
            >
              <input
                type="radio"
                name="access"
                className="mt-1 accent-accent"
                checked={on}
                onChange={() => choose.mutate(mode)}
              />
              <span>
                <span className="block font-medium">{name}</span>
                <span className="block text-13 text-muted">{what}</span>
              </span>
            </label>
          );
        })}
        {reason && <p className="text-13 text-muted">{reason}.</p>}
        {choose.error && (
          <p role="alert" className="text-13 text-danger-text">
            {messageOf(choose.error)}
          </p>
        )}
      </fieldset>
      <Freezing />
    </Page>
  );
}

function Freezing() {
  const me = useMe();
  const { freeze: ask } = useFrame();
  const freeze = useQuery(freezeQuery);
  return (
    <section aria-label="Freeze" className="flex max-w-xl flex-col gap-3 px-4 pb-6 text-13 md:px-6">
      <h2 className="text-14 font-semibold">Freeze</h2>
      <p className="text-muted">
        Stops every call that would change something, at once and on the hosts too, whoever allowed it. Safe calls go
        on.
      </p>
      {freeze.error && (
        <Failed
          what="Whether changes are frozen could not be read."
          error={freeze.error}
          onRetry={() => void freeze.refetch()}
        />
      )}
      {freeze.data &&
        (freeze.data.frozen ? (
          <div className="flex flex-wrap items-center gap-3">
            <span className="inline-flex items-center gap-1.5 text-mutating">
              <Snowflake aria-hidden size={14} /> Changes are frozen.
            </span>
            <UnfreezeButton />
            {may.unfreeze(me) && <span className="text-muted">Only admins unfreeze.</span>}
          </div>
        ) : (
          <Button icon={Snowflake} look="danger" className="self-start" reason={may.freeze(me)} onClick={ask}>
            Freeze changes
          </Button>
        ))}
    </section>
  );
}
