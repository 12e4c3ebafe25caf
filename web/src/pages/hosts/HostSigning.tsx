/** What the host's own file asks for before something changes it: shown here, set there. */
import { useQuery } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import type { HostSigning as Signing } from "../../api/signing";
import { approversQuery } from "../../api/signing-queries";
import { Card, Facts } from "../../components/Page";
import { Labels } from "../../components/Words";
import { mismatches, PROOF_WORDS, whyDangerousOff } from "../../lib/signing";

export function HostSigning({ signing }: { signing: Signing }) {
  const approvers = useQuery(approversQuery).data;
  const off = whyDangerousOff(signing);
  return (
    <Card title="Approvals on this host">
      <div className="flex flex-col gap-3 p-4 text-13" data-host-signing>
        <p data-dangerous={signing.dangerous ? "on" : "off"}>
          {off.length === 0
            ? "Dangerous calls can run here, with a procedure and two signatures."
            : `Dangerous calls are off here: ${off.join("; ")}.`}
        </p>
        {mismatches(signing, approvers).map((problem) => (
          <p key={problem} className="flex items-start gap-2 text-mutating">
            <TriangleAlert aria-hidden size={14} className="mt-[3px] shrink-0" />
            {problem}
          </p>
        ))}
        <Facts
          rows={[
            [
              "Changes need",
              <span key="proof">
                {PROOF_WORDS[signing.approval_proof]}{" "}
                <code className="font-mono text-12 text-muted">{signing.approval_proof}</code>
              </span>,
            ],
            ["Procedure keys", signing.sop_keys.length > 0 ? <Prints key="sop" prints={signing.sop_keys} /> : "none"],
            [
              "Approvers' root",
              signing.approver_root ? <Prints key="root" prints={[signing.approver_root]} /> : "none",
            ],
            [
              "List seen",
              signing.approver_root && (signing.list_version > 0 ? `version ${signing.list_version}` : "none yet"),
            ],
            [
              "Passkeys of",
              signing.approver_root &&
                (signing.origin ? (
                  <span key="origin" className="font-mono text-12 break-all">
                    {signing.origin}
                  </span>
                ) : (
                  "no console: key files only"
                )),
            ],
            [
              "Key files",
              signing.min_independent_signatures > 0 &&
                `at least ${signing.min_independent_signatures} of the signatures of a dangerous call`,
            ],
            [
              "Own labels",
              Object.keys(signing.labels).length > 0 ? <Labels key="labels" labels={signing.labels} /> : "none",
            ],
          ]}
        />
        <p className="text-12 text-muted">Set in the host's own file, which nobody can change from here.</p>
      </div>
    </Card>
  );
}

function Prints({ prints }: { prints: string[] }) {
  return (
    <ul className="flex flex-col">
      {prints.map((print) => (
        <li key={print} className="font-mono text-12 leading-5 break-all">
          {print}
        </li>
      ))}
    </ul>
  );
}
