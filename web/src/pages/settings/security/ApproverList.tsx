/** Whose signatures count: the signed list, and keys that people offer for the next one. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { TriangleAlert, Upload } from "lucide-react";
import { useState } from "react";
import { messageOf } from "../../../api/client";
import { type Approvers, type KeyOffer, type SignedDocument, signingApi } from "../../../api/signing";
import { approversQuery, keyOffersQuery } from "../../../api/signing-queries";
import { Block } from "../../../components/Block";
import { Button } from "../../../components/Button";
import { Dialog } from "../../../components/Dialog";
import { Card, Facts } from "../../../components/Page";
import { SignedFiles } from "../../../components/SignedFiles";
import { Failed, SkeletonRows } from "../../../components/States";
import { Time } from "../../../components/Time";
import { toast } from "../../../components/toasts";
import { useMe } from "../../../frame/session";
import { useNow } from "../../../lib/clock";
import { sentence } from "../../../lib/format";
import { may } from "../../../lib/may";
import { KIND_WORDS } from "../../../lib/signing";

export function ApproverList() {
  const query = useQuery(approversQuery);
  const reason = may.administer(useMe());
  const [importing, setImporting] = useState(false);
  const approvers = query.data;
  return (
    <Card
      title="Approvers"
      actions={
        approvers?.configured && (
          <Button size="small" look="quiet" icon={Upload} reason={reason} onClick={() => setImporting(true)}>
            Import a list
          </Button>
        )
      }
    >
      {query.error && (
        <Failed
          what="The list of approvers could not be read."
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      )}
      {query.isPending && <SkeletonRows rows={3} />}
      {approvers && !approvers.configured && (
        <p className="p-4 text-13 text-muted">
          This manager pins no root key, so no signature counts here. Whoever answers for security makes one with{" "}
          <code className="font-mono text-12">steadyhand approvers root-keygen</code> and puts its public half into{" "}
          <code className="font-mono text-12">[security.approvers] root_key</code> of the manager and of each host.
        </p>
      )}
      {approvers?.configured && <Listed approvers={approvers} />}
      {reason === null && <Offers />}
      <Dialog open={importing} onClose={() => setImporting(false)} title="Import a list of approvers">
        <ImportList known={approvers} onDone={() => setImporting(false)} />
      </Dialog>
    </Card>
  );
}

function Listed({ approvers }: { approvers: Approvers }) {
  const { list, root_fingerprint, origin, rp_id } = approvers;
  const now = useNow();
  const over = list ? Date.parse(list.expires) <= now : false;
  return (
    <>
      {approvers.problem && (
        <p role="alert" className="flex items-start gap-2 px-4 pt-4 text-13 text-mutating">
          <TriangleAlert aria-hidden size={14} className="mt-[3px] shrink-0" />
          {sentence(approvers.problem)}
        </p>
      )}
      <div className="p-4">
        <Facts
          rows={[
            [
              "Root key",
              <span key="root" className="font-mono text-12 break-all">
                {root_fingerprint}
              </span>,
            ],
            ["Version", list && <span className="tabular">{list.version}</span>],
            [
              "Good until",
              list && (
                <span className={over ? "text-danger-text" : undefined}>
                  <Time at={list.expires} />
                  {over && ": it has ended, and no signature counts"}
                </span>
              ),
            ],
            [
              "Imported",
              list && (
                <span>
                  <Time at={list.imported_at} /> by {list.imported_by.name}
                </span>
              ),
            ],
            [
              "Passkeys at",
              origin && rp_id ? (
                <span key="origin" className="font-mono text-12 break-all">
                  {origin}
                </span>
              ) : (
                "none: the configuration names no origin, so only key files sign"
              ),
            ],
          ]}
        />
      </div>
      {!list ? (
        <p className="border-t border-line/60 p-4 text-13 text-muted">
          No list is imported yet, so nobody can sign. People offer their keys under “Your approval keys”; whoever has
          the root key signs the list.
        </p>
      ) : (
        <ul aria-label="Approvers" className="border-t border-line/60 text-13">
          {list.people.map((each) => (
            <li
              key={each.person}
              data-approver={each.person}
              className="flex flex-wrap gap-x-4 gap-y-1 border-b border-line/60 px-4 py-2 last:border-b-0"
            >
              <span className="w-40 font-medium break-words">{each.person}</span>
              <ul aria-label={`Keys of ${each.person}`} className="flex min-w-0 flex-1 flex-col gap-1">
                {each.keys.map((key) => (
                  <li key={key.id} className="flex flex-wrap gap-x-3">
                    <span className="w-16">{KIND_WORDS[key.kind]}</span>
                    <code className="font-mono text-12 leading-5 text-muted">{key.id}</code>
                    <span className="min-w-0 break-words text-muted">{key.label}</span>
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Keys that people offer: lines for the next list, which whoever has the root key looks at and signs. */
function Offers() {
  const query = useQuery(keyOffersQuery);
  const waiting = query.data?.filter((offer) => !offer.listed) ?? [];
  if (query.error) {
    return (
      <Failed what="The offered keys could not be read." error={query.error} onRetry={() => void query.refetch()} />
    );
  }
  if (waiting.length === 0) return null;
  return (
    <section aria-label="Offered keys" className="flex flex-col gap-2 border-t border-line p-4 text-13">
      <h3 className="font-medium">Offered, and not in the list</h3>
      <p className="text-12 text-muted">
        Make sure with each person that the key is theirs before it is signed into the next list: this manager could
        have been lied to.
      </p>
      <ul className="flex flex-col gap-3">
        {waiting.map((offer) => (
          <Offer key={offer.id} offer={offer} />
        ))}
      </ul>
    </section>
  );
}

function Offer({ offer }: { offer: KeyOffer }) {
  return (
    <li className="flex flex-col gap-1" data-offer={offer.key_id}>
      <p className="flex flex-wrap gap-x-3">
        <span className="font-medium">{offer.person}</span>
        <span>{KIND_WORDS[offer.kind]}</span>
        <code className="font-mono text-12 leading-5 text-muted">{offer.key_id}</code>
        <span className="text-muted">
          {offer.label && `${offer.label}, `}
          <Time at={offer.offered_at} />
        </span>
      </p>
      <Block text={offer.toml} label={`Lines for the list: ${offer.person} ${offer.key_id}`} />
    </li>
  );
}

function ImportList({ known, onDone }: { known: Approvers | undefined; onDone: () => void }) {
  const client = useQueryClient();
  const [files, setFiles] = useState<SignedDocument | null>(null);
  const save = useMutation({
    mutationFn: (list: SignedDocument) => signingApi.importApprovers(list),
    onSuccess: async (next) => {
      await Promise.all([
        client.invalidateQueries({ queryKey: ["approvers"] }),
        client.invalidateQueries({ queryKey: ["approver-keys"] }),
        client.invalidateQueries({ queryKey: ["approvals"] }),
        client.invalidateQueries({ queryKey: ["approval"] }),
      ]);
      toast(`Version ${next.list?.version} of the list is here.`);
      onDone();
    },
  });
  return (
    <div className="flex flex-col gap-4">
      <p className="text-13 text-muted">
        {known?.list
          ? `Version ${known.list.version} is here; a new list has a higher version.`
          : "The first list of this manager."}{" "}
        It replaces the whole list: who isn't in it can't sign any more.
      </p>
      <SignedFiles
        label="List of approvers"
        onChange={(next) => {
          setFiles(next);
          save.reset();
        }}
      />
      {save.error && (
        <p role="alert" className="text-13 break-words text-danger-text">
          {messageOf(save.error)}
        </p>
      )}
      <Button
        look="primary"
        className="self-end max-md:h-11"
        busy={save.isPending}
        disabled={!files}
        onClick={() => files && save.mutate(files)}
      >
        Import the list
      </Button>
    </div>
  );
}
