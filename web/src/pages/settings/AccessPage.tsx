import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, messageOf } from "../../api/client";
import { meQuery } from "../../api/queries";
import type { AccessMode } from "../../api/types";
import { Page } from "../../components/Page";
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
    <Page title="Access mode">
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
    </Page>
  );
}
