import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import type { Procedure } from "../../../api/signing";
import { proceduresQuery } from "../../../api/signing-queries";
import { Button } from "../../../components/Button";
import { CheckBox } from "../../../components/Field";
import { Card } from "../../../components/Page";
import { Failed, SkeletonRows } from "../../../components/States";
import { Time } from "../../../components/Time";
import { useMe } from "../../../frame/session";
import { may } from "../../../lib/may";
import { whenRevoked } from "../../../lib/signing";
import { ImportProcedure } from "./ImportProcedure";
import { ProcedureSheet } from "./ProcedureSheet";
import { StateChip } from "./StateChip";

const nameOf = ({ id, version }: Pick<Procedure, "id" | "version">): string => `${id}/${version}`;

const holds = ({ state }: Procedure): boolean => state === "active" || state === "not_yet";

export function Procedures() {
  const query = useQuery(proceduresQuery);
  const search = useSearch({ from: "/settings/security" });
  const navigate = useNavigate({ from: "/settings/security" });
  const [importing, setImporting] = useState(false);
  const reason = may.administer(useMe());
  const all = query.data ?? [];
  const ended = all.filter((each) => !holds(each)).length;
  const shown = all.filter((each) => search.ended || holds(each));
  const shownHere = all.find((each) => nameOf(each) === search.sop);
  const open = (sop: string | undefined) => void navigate({ search: (old) => ({ ...old, sop }) });
  return (
    <Card
      title="Procedures"
      actions={
        <Button size="small" look="quiet" icon={Plus} reason={reason} onClick={() => setImporting(true)}>
          Import
        </Button>
      }
    >
      {query.error && (
        <Failed what="The procedures could not be read." error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <SkeletonRows rows={3} />}
      {query.data && shown.length === 0 && (
        <p className="p-4 text-13 text-muted">
          {all.length === 0 ? "No procedure is imported yet" : "No procedure is in force"}, so dangerous calls are
          refused. <code className="font-mono text-12">steadyhand sop new</code> writes one to start from; whoever
          answers for operations signs it on a machine of their own.
        </p>
      )}
      <ul aria-label="Procedures" className="text-13 empty:hidden">
        {shown.map((each) => (
          <ProcedureRow key={nameOf(each)} procedure={each} onOpen={() => open(nameOf(each))} />
        ))}
      </ul>
      {ended > 0 && (
        <div className="border-t border-line/60 px-4 py-3">
          <CheckBox
            label={`Also those that hold no more (${ended})`}
            checked={search.ended ?? false}
            onChange={(event) =>
              void navigate({ search: (old) => ({ ...old, ended: event.target.checked || undefined }), replace: true })
            }
          />
        </div>
      )}
      <ImportProcedure
        open={importing}
        onClose={() => setImporting(false)}
        onImported={(sop) => {
          setImporting(false);
          open(nameOf(sop));
        }}
      />
      <ProcedureSheet
        name={search.sop ?? null}
        procedure={shownHere}
        others={shownHere ? whenRevoked(shownHere, all) : null}
        loading={query.isPending}
        onClose={() => open(undefined)}
      />
    </Card>
  );
}

function ProcedureRow({ procedure, onOpen }: { procedure: Procedure; onOpen: () => void }) {
  const { id, version, title, state, steps, valid_until } = procedure;
  return (
    <li
      data-sop={nameOf(procedure)}
      data-sop-state={state}
      className="relative flex min-h-12 flex-wrap items-center gap-x-4 gap-y-0.5 border-b border-line/60 px-4 py-2 last:border-b-0 hover:bg-raised/50"
    >
      <div className="min-w-56 flex-1">
        <button
          type="button"
          data-row
          onClick={onOpen}
          className="text-left font-medium break-words after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          {title}
        </button>
        <p className="text-12 text-muted">
          <span className="font-mono">{id}</span> version {version} ·{" "}
          {steps.length === 1 ? "one step" : `${steps.length} steps`}:{" "}
          <span className="font-mono">{[...new Set(steps.map((step) => step.skill))].join(", ")}</span>
        </p>
      </div>
      <span className="text-12 text-muted md:w-44">
        {state === "not_yet" ? (
          <>
            from <Time at={procedure.valid_from} />
          </>
        ) : (
          <>
            until <Time at={valid_until} />
          </>
        )}
      </span>
      <StateChip state={state} />
    </li>
  );
}
