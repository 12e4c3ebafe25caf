/** Signing with a passkey: opens the statement, looks whether it is this call, lets the authenticator sign, sends it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Approval } from "../../../api/approvals";
import { ApiError, messageOf, winnerOf } from "../../../api/client";
import { approvalQuery } from "../../../api/queries";
import { type Signing, signingApi } from "../../../api/signing";
import { approversQuery } from "../../../api/signing-queries";
import type { Json } from "../../../api/types";
import { useMe } from "../../../frame/session";
import { passkeysOf } from "../../../lib/signing";
import { whatDiffers } from "../../../lib/statement";
import { assertionOptions, passkeyProblem, signatureOf, thisPage, whyNoPasskeys } from "../../../lib/webauthn";

interface Wanted {
  approval: Approval;
  signing: Signing;
  /** The arguments as the card shows them. */
  args: Json;
  onSigned: () => void;
}

export function useSigning({ approval, signing, args, onSigned }: Wanted) {
  const me = useMe();
  const client = useQueryClient();
  const approvers = useQuery(approversQuery);
  const rpId = approvers.data?.rp_id;
  const keep = (next: Approval) => {
    client.setQueryData(approvalQuery(approval.id).queryKey, next);
    void client.invalidateQueries({ queryKey: ["approvals"] });
  };
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (hostName: string | undefined) => {
      const opened = await signingApi.openStatement(approval.id);
      const differs = await whatDiffers(approval, args, opened);
      if (differs) throw new Error(`${differs} Nothing was signed.`);
      const keys = passkeysOf(signing);
      const credential = await navigator.credentials.get({
        publicKey: assertionOptions(opened.digest, rpId ?? "", keys),
      });
      if (!credential) throw new DOMException("", "NotAllowedError");
      const signature = signatureOf(
        credential as PublicKeyCredential & { response: AuthenticatorAssertionResponse },
        me.user.name,
        keys,
      );
      return signingApi.sign(approval.id, {
        statement: opened.statement,
        signature,
        ...(hostName ? { host_name: hostName } : {}),
      });
    },
    onSuccess: (next) => {
      onSigned();
      keep(next);
    },
    onError: (failure) => {
      const winner = winnerOf(failure);
      if (winner) keep(winner);
      // Whatever it was, the card may be behind.
      else if (failure instanceof ApiError) {
        void client.invalidateQueries({ queryKey: approvalQuery(approval.id).queryKey });
      }
    },
  });
  return {
    sign: mutate,
    busy: isPending,
    problem: error ? (passkeyProblem(error) ?? messageOf(error)) : null,
    /** Why passkeys don't work on this page. */
    noPasskeys: approvers.error
      ? `Whether passkeys work here could not be read: ${messageOf(approvers.error)}`
      : whyNoPasskeys(approvers.data, thisPage()),
    /** Until it is known where passkeys work, none is asked for. */
    ready: Boolean(rpId),
  };
}
