/** Which procedure a dangerous call goes by, and how much is left of it. */
import { Link } from "@tanstack/react-router";
import { FileCheck2 } from "lucide-react";
import type { NamedProcedure } from "../../../api/signing";
import { Facts } from "../../Page";
import { Time } from "../../Time";

export function ProcedureBlock({ procedure }: { procedure: NamedProcedure }) {
  const { id, version, step, title } = procedure;
  return (
    <div
      role="group"
      aria-label="Procedure"
      data-procedure={`${id}/${step}`}
      className="flex flex-col gap-2 rounded-control border border-line bg-bg px-3 py-2 text-13"
    >
      <h3 className="flex items-start gap-2 font-medium">
        <FileCheck2 aria-hidden size={14} className="mt-[3px] shrink-0 text-muted" />
        <span className="min-w-0 break-words">{title}</span>
      </h3>
      <Facts
        rows={[
          [
            "Procedure",
            <Link
              key="procedure"
              to="/settings/security"
              search={{ sop: `${id}/${version}` }}
              className="font-mono text-12 break-all underline underline-offset-2 hover:text-accent-text"
            >
              {id} version {version}
            </Link>,
          ],
          [
            "Step",
            <span key="step" className="font-mono text-12 break-all">
              {step}
            </span>,
          ],
          [
            "Runs here",
            <span key="runs" className="tabular">
              {procedure.runs_used} of {procedure.maximum_runs} used
            </span>,
          ],
          ["Good until", procedure.valid_until && <Time key="until" at={procedure.valid_until} />],
          [
            "Signed by",
            <span key="signer" className="font-mono text-12 break-all" title="Fingerprint of the key of procedures">
              {procedure.signer}
            </span>,
          ],
        ]}
      />
    </div>
  );
}
