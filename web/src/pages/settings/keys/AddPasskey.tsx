import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Fingerprint } from "lucide-react";
import { type FormEvent, useState } from "react";
import { messageOf } from "../../../api/client";
import { type KeyOffer, signingApi } from "../../../api/signing";
import { Button } from "../../../components/Button";
import { Field, TextInput } from "../../../components/Field";
import { useMe } from "../../../frame/session";
import { creationOptions, keyOf, passkeyProblem } from "../../../lib/webauthn";

interface AddPasskeyProps {
  rpId: string;
  known: readonly KeyOffer[];
  onDone: () => void;
}

export const LABEL_MAX = 100;

export function AddPasskey({ rpId, known, onDone }: AddPasskeyProps) {
  const me = useMe();
  const client = useQueryClient();
  const [label, setLabel] = useState("");
  const make = useMutation({
    mutationFn: async () => {
      const user = { name: me.user.name, display: me.user.display_name || me.user.name };
      const ids = known.flatMap((key) => (key.credential_id ? [key.credential_id] : []));
      const credential = await navigator.credentials.create({ publicKey: creationOptions(rpId, user, ids) });
      if (!credential) throw new DOMException("", "NotAllowedError");
      const made = credential as PublicKeyCredential & { response: AuthenticatorAttestationResponse };
      return signingApi.offerKey(keyOf(made, label.trim()));
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["approver-keys"] });
      onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!make.isPending) make.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <p className="text-13 text-muted">
        The browser asks where to keep it: this device, a phone or a security key. It signs only with your finger, face
        or PIN, and only on this site.
      </p>
      <Field label="Label" hint="Where it is, for whoever signs the list: phone, security key in the safe.">
        {(field) => (
          <TextInput
            {...field}
            required
            maxLength={LABEL_MAX}
            value={label}
            onChange={(event) => setLabel(event.target.value)}
          />
        )}
      </Field>
      {make.error && (
        <p role="alert" className="text-13 text-danger-text">
          {passkeyProblem(make.error) ?? messageOf(make.error)}
        </p>
      )}
      <Button
        type="submit"
        look="primary"
        icon={Fingerprint}
        className="self-end max-md:h-11"
        busy={make.isPending}
        disabled={label.trim() === ""}
      >
        Make it
      </Button>
    </form>
  );
}
