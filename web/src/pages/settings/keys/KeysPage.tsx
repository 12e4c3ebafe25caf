/** The keys that one signs approvals with: made or pasted here, counted once the list of approvers has them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleDashed, Fingerprint, KeyRound } from "lucide-react";
import { useState } from "react";
import { type KeyOffer, signingApi } from "../../../api/signing";
import { approversQuery, myKeysQuery } from "../../../api/signing-queries";
import { Block } from "../../../components/Block";
import { Button } from "../../../components/Button";
import { Confirm } from "../../../components/Confirm";
import { Dialog } from "../../../components/Dialog";
import { Card, Page } from "../../../components/Page";
import { Failed, SkeletonRows } from "../../../components/States";
import { Time } from "../../../components/Time";
import { cx } from "../../../lib/cx";
import { KIND_WORDS } from "../../../lib/signing";
import { thisPage, whyNoPasskeys } from "../../../lib/webauthn";
import { AddKeyFile } from "./AddKeyFile";
import { AddPasskey } from "./AddPasskey";

export function KeysPage() {
  const keys = useQuery(myKeysQuery);
  const approvers = useQuery(approversQuery);
  const [adding, setAdding] = useState<"passkey" | "file" | null>(null);
  const noPasskeys = whyNoPasskeys(approvers.data, thisPage());
  const close = () => setAdding(null);
  return (
    <Page title="Your approval keys">
      <div className="flex max-w-3xl flex-col gap-4 px-4 pb-6 md:px-6">
        <p className="text-13 text-muted">
          What you sign approvals with. A key counts once the list of approvers has it: hand the lines below to whoever
          signs that list. Private keys never come here.
        </p>
        <Card title="Keys">
          {keys.error && (
            <Failed what="Your keys could not be read." error={keys.error} onRetry={() => void keys.refetch()} />
          )}
          {keys.isPending && <SkeletonRows rows={2} />}
          {keys.data?.length === 0 && <p className="p-4 text-13 text-muted">You have offered no key yet.</p>}
          <ul aria-label="Your keys" className="text-13 empty:hidden">
            {keys.data?.map((key) => (
              <KeyRow key={key.id} offer={key} />
            ))}
          </ul>
          <div className="flex flex-col gap-2 border-t border-line/60 p-4">
            <div className="flex flex-wrap gap-2">
              <Button
                look="primary"
                icon={Fingerprint}
                className="max-md:h-11"
                disabled={!approvers.data}
                reason={noPasskeys}
                onClick={() => setAdding("passkey")}
              >
                Make a passkey
              </Button>
              <Button icon={KeyRound} className="max-md:h-11" onClick={() => setAdding("file")}>
                Add a key file
              </Button>
            </div>
            {noPasskeys && <p className="text-12 text-muted">{noPasskeys}</p>}
            {approvers.error && (
              <p role="alert" className="text-12 text-danger-text">
                Whether passkeys work here could not be read.
              </p>
            )}
          </div>
        </Card>
      </div>
      <Dialog open={adding === "passkey"} onClose={close} title="Make a passkey">
        <AddPasskey rpId={approvers.data?.rp_id ?? ""} known={keys.data ?? []} onDone={close} />
      </Dialog>
      <Dialog open={adding === "file"} onClose={close} title="Add a key file">
        <AddKeyFile onDone={close} />
      </Dialog>
    </Page>
  );
}

function KeyRow({ offer }: { offer: KeyOffer }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const Icon = offer.listed ? CircleCheck : CircleDashed;
  return (
    <li
      data-key={offer.key_id}
      data-listed={offer.listed ? "yes" : "no"}
      className="flex flex-col gap-2 border-b border-line/60 px-4 py-3 last:border-b-0"
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="min-w-40 flex-1">
          <span className="font-medium break-words">{offer.label || KIND_WORDS[offer.kind]}</span>{" "}
          <span className="text-12 text-muted">
            {KIND_WORDS[offer.kind]} <code className="font-mono">{offer.key_id}</code>, <Time at={offer.offered_at} />
          </span>
        </span>
        <span className={cx("inline-flex items-center gap-1.5 text-12", offer.listed ? "text-safe" : "text-mutating")}>
          <Icon aria-hidden size={14} />
          {offer.listed ? "in the list" : "not in the list yet"}
        </span>
        <Button size="small" look="danger" className="max-md:h-11" onClick={() => setAsking(true)}>
          Withdraw
        </Button>
      </div>
      {!offer.listed && <Block text={offer.toml} label={`Lines for the list of approvers: ${offer.key_id}`} />}
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={`Withdraw ${offer.label || offer.key_id}?`}
        action="Withdraw"
        onConfirm={async () => {
          await signingApi.withdrawKey(offer.id);
          await Promise.all([
            client.invalidateQueries({ queryKey: ["approver-keys"] }),
            client.invalidateQueries({ queryKey: ["approvers"] }),
          ]);
        }}
      >
        <p>
          {offer.listed
            ? "It stays in the list of approvers until a new list is signed without it."
            : "It is no longer offered for the list of approvers."}
          {offer.kind === "webauthn" && " This console won't ask for the passkey any more."}
        </p>
      </Confirm>
    </li>
  );
}
