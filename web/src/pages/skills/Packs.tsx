import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { api, messageOf } from "../../api/client";
import { packsQuery } from "../../api/queries";
import type { Pack } from "../../api/types";
import { Button } from "../../components/Button";
import { toast } from "../../components/toasts";
import { ClassWord } from "../../components/Words";
import { useMe } from "../../frame/session";
import { may } from "../../lib/may";

/** The packs of all hosts and of the manager: those that wait for an admin first, then those that run, then those that are broken. */
export function Packs() {
  const packs = useQuery(packsQuery);
  if (!packs.data || packs.data.length === 0) return null;
  return (
    <section aria-label="Packs">
      <h2 className="border-y border-line bg-surface px-4 py-1 text-12 font-medium text-muted md:px-6">Packs</h2>
      <ul className="text-13">
        {packs.data.map((pack) => (
          <PackRow key={`${pack.pin}-${pack.error ?? ""}`} pack={pack} />
        ))}
      </ul>
    </section>
  );
}

const STATE_WORDS: Record<Pack["state"], string> = {
  waiting: "waits for an admin",
  accepted: "accepted",
  broken: "broken",
};

function placesOf(pack: Pack): string {
  const places = pack.hosts.map((host) => host.name);
  if (pack.manager_path) places.unshift("the manager");
  return places.length === 0 ? "on no host" : `on ${places.join(", ")}`;
}

function PackRow({ pack }: { pack: Pack }) {
  const me = useMe();
  const queries = useQueryClient();
  const row = useRef<HTMLLIElement>(null);
  const done = async (words: string) => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["packs"] }),
      queries.invalidateQueries({ queryKey: ["capabilities"] }),
    ]);
    toast(words);
    // The button that was pressed is gone; whoever pressed it by key goes on from the pack.
    if (document.activeElement === document.body) row.current?.querySelector<HTMLElement>("summary")?.focus();
  };
  const onError = (error: Error) => toast(messageOf(error), "error");
  const accept = useMutation({
    mutationFn: () => api.acceptPack(pack.pin),
    onSuccess: () => done(`${pack.name} is accepted.`),
    onError,
  });
  const revoke = useMutation({
    mutationFn: () => api.revokePack(pack.pin),
    onSuccess: () => done(`${pack.name} is not accepted any more.`),
    onError,
  });
  const reason = may.administer(me);
  return (
    <li
      ref={row}
      className="border-b border-line/60 px-4 py-2 md:px-6"
      data-pack={pack.name}
      data-pack-state={pack.state}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="font-mono text-12 font-medium">
          {pack.name} {pack.version}
        </span>
        <span className={pack.state === "accepted" ? "text-12 text-muted" : "text-12 text-mutating"}>
          {STATE_WORDS[pack.state]}
        </span>
        <span className="text-12 text-muted">{placesOf(pack)}</span>
        <span className="grow" />
        {pack.state === "waiting" && (
          <Button size="small" look="primary" busy={accept.isPending} reason={reason} onClick={() => accept.mutate()}>
            Accept {pack.name}
          </Button>
        )}
        {pack.state === "accepted" && (
          <Button size="small" look="danger" busy={revoke.isPending} reason={reason} onClick={() => revoke.mutate()}>
            Revoke {pack.name}
          </Button>
        )}
      </div>
      {pack.error && <p className="mt-1 break-words text-12 text-danger-text">{pack.error}</p>}
      {pack.description && <p className="mt-1 text-12 text-muted">{pack.description}</p>}
      {pack.warnings.map((warning) => (
        <p key={warning} className="mt-1 text-12 text-mutating">
          {warning}
        </p>
      ))}
      {pack.digest && (
        <details className="mt-1 text-12">
          <summary className="cursor-pointer text-muted">
            {pack.skills.length === 1 ? "1 skill" : `${pack.skills.length} skills`}, what they may reach, and the digest
          </summary>
          <ul className="mt-1 flex flex-col gap-1">
            {pack.skills.map((skill) => (
              <li key={skill.key}>
                <span className="font-mono">{skill.key}</span> <ClassWord value={skill.class} />{" "}
                <span className="text-muted">{skill.description}</span>
                <pre className="mt-1 overflow-x-auto whitespace-pre-wrap break-all text-muted">
                  {JSON.stringify(skill.params)}
                </pre>
              </li>
            ))}
          </ul>
          {pack.reach.map((words) => (
            <p key={words} className="mt-1">
              {words}
            </p>
          ))}
          <p className="mt-1 break-all font-mono text-muted">{pack.digest}</p>
        </details>
      )}
    </li>
  );
}
