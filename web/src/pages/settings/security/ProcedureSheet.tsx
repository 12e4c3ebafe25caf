/** One procedure: what it allows, the text that was signed, and taking it back. */
import { useQueryClient } from "@tanstack/react-query";
import { Ban } from "lucide-react";
import { useState } from "react";
import { type Procedure, type ProcedureStep, signingApi } from "../../../api/signing";
import { Block } from "../../../components/Block";
import { Button } from "../../../components/Button";
import { Confirm } from "../../../components/Confirm";
import { Dialog } from "../../../components/Dialog";
import { Facts } from "../../../components/Page";
import { SkeletonRows } from "../../../components/States";
import { Time } from "../../../components/Time";
import { useMe } from "../../../frame/session";
import { may } from "../../../lib/may";
import { targetsOf } from "../../../lib/signing";
import { StateChip } from "./StateChip";

interface ProcedureSheetProps {
  /** What the address asks for. */
  name: string | null;
  procedure: Procedure | undefined;
  /** What becomes of the other versions once this one is revoked. */
  others: string | null;
  loading: boolean;
  onClose: () => void;
}

export function ProcedureSheet({ name, procedure, others, loading, onClose }: ProcedureSheetProps) {
  return (
    <Dialog open={name !== null} onClose={onClose} title={procedure?.title ?? "Procedure"} kind="sheet" wide>
      {procedure ? (
        <Detail procedure={procedure} others={others} />
      ) : loading ? (
        <SkeletonRows />
      ) : (
        <p className="text-13 text-muted">There is no procedure {name} here.</p>
      )}
    </Dialog>
  );
}

type Shown = Pick<ProcedureSheetProps, "others"> & { procedure: Procedure };

function Detail({ procedure, others }: Shown) {
  const { revoked_at, revoked_by } = procedure;
  return (
    <div className="flex flex-col gap-6" data-sop-detail={`${procedure.id}/${procedure.version}`}>
      {procedure.description && <p className="text-13">{procedure.description}</p>}
      <Facts
        rows={[
          ["State", <StateChip key="state" state={procedure.state} />],
          [
            "Id",
            <span key="id" className="font-mono text-12">
              {procedure.id} version {procedure.version}
            </span>,
          ],
          [
            "In force",
            <span key="force">
              <Time at={procedure.valid_from} /> to <Time at={procedure.valid_until} />
            </span>,
          ],
          [
            "Signed by",
            <span key="signer" className="font-mono text-12 break-all">
              {procedure.signer}
            </span>,
          ],
          [
            "Imported",
            <span key="imported">
              <Time at={procedure.imported_at} /> by {procedure.imported_by.name}
            </span>,
          ],
          [
            "Revoked",
            revoked_at && (
              <span key="revoked" className="text-danger-text">
                <Time at={revoked_at} /> by {revoked_by?.name ?? "somebody"}
              </span>
            ),
          ],
        ]}
      />
      <section aria-label="Steps" className="flex flex-col gap-2">
        <h3 className="text-12 font-medium text-muted">What it allows</h3>
        <ul className="flex flex-col gap-2">
          {procedure.steps.map((step) => (
            <Step key={step.name} step={step} />
          ))}
        </ul>
      </section>
      <section aria-label="Signed text" className="flex flex-col gap-2">
        <h3 className="text-12 font-medium text-muted">The text that was signed</h3>
        <Block text={procedure.document} label="The text that was signed" />
      </section>
      <Revoke procedure={procedure} others={others} />
    </div>
  );
}

function Step({ step }: { step: ProcedureStep }) {
  return (
    <li className="flex flex-col gap-2 rounded-control border border-line px-3 py-2 text-13">
      <p className="font-mono text-12 font-medium break-all">{step.name}</p>
      <Facts
        rows={[
          [
            "Skill",
            <span key="skill" className="font-mono text-12">
              {step.skill}
            </span>,
          ],
          [
            "Where",
            <span key="where" className={step.any_host ? "text-mutating" : undefined}>
              {targetsOf(step)}
            </span>,
          ],
          ["Runs", <span key="runs">{step.maximum_runs} at most on one host</span>],
          [
            "Arguments",
            <Block
              key="arguments"
              text={JSON.stringify(step.parameters, null, 2)}
              label={`Arguments of ${step.name}`}
            />,
          ],
        ]}
      />
    </li>
  );
}

function Revoke({ procedure, others }: Shown) {
  const client = useQueryClient();
  const reason = may.administer(useMe());
  const [asking, setAsking] = useState(false);
  const { id, version, state } = procedure;
  if (state === "revoked") return null;
  return (
    <>
      <Button
        look="danger"
        icon={Ban}
        className="self-start max-md:h-11"
        reason={reason}
        onClick={() => setAsking(true)}
      >
        Revoke
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={`Revoke ${id} version ${version}?`}
        action="Revoke"
        onConfirm={async () => {
          await signingApi.revokeProcedure(id, version);
          await Promise.all([
            client.invalidateQueries({ queryKey: ["sops"] }),
            client.invalidateQueries({ queryKey: ["approvals"] }),
          ]);
        }}
      >
        <p>
          This manager starts nothing by it from now on, also what is signed already. Hosts take it until it ends unless
          its key leaves their configuration.
        </p>
        {others && <p data-other-versions>{others}</p>}
      </Confirm>
    </>
  );
}
