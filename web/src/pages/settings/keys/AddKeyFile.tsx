import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { messageOf } from "../../../api/client";
import { signingApi } from "../../../api/signing";
import { Block } from "../../../components/Block";
import { Button } from "../../../components/Button";
import { Field, inputLook, TextInput } from "../../../components/Field";
import { useMe } from "../../../frame/session";
import { shellQuote } from "../../../lib/command-lines";
import { cx } from "../../../lib/cx";
import { readPublicKey } from "../../../lib/keys";
import { LABEL_MAX } from "./AddPasskey";

export function AddKeyFile({ onDone }: { onDone: () => void }) {
  const me = useMe();
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [label, setLabel] = useState("key file");
  const [problem, setProblem] = useState<string | null>(null);
  const offer = useMutation({
    mutationFn: (spki: string) => signingApi.offerKey({ kind: "ed25519", public: spki, label: label.trim() }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["approver-keys"] });
      onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    try {
      const spki = readPublicKey(text);
      setProblem(null);
      offer.mutate(spki);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const name = shellQuote(me.user.name);
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-3">
      <p className="text-13 text-muted">Made on a machine of your own, outside of any browser:</p>
      <Block text={`steadyhand approvers keygen ${name} --person ${name}`} label="The command that makes a key file" />
      <Field
        label="Public key"
        error={problem}
        hint={`What the command prints, or the contents of ${me.user.name}.pub.pem.`}
      >
        {({ required: _required, ...field }) => (
          <textarea
            {...field}
            rows={4}
            spellCheck={false}
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setProblem(null);
            }}
            className={cx(inputLook, "h-auto w-full py-1.5 font-mono text-12")}
          />
        )}
      </Field>
      <Field label="Label" hint="Where it is, for whoever signs the list.">
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
      {offer.error && (
        <p role="alert" className="text-13 text-danger-text">
          {messageOf(offer.error)}
        </p>
      )}
      <Button
        type="submit"
        look="primary"
        className="self-end max-md:h-11"
        busy={offer.isPending}
        disabled={text.trim() === "" || label.trim() === ""}
      >
        Offer it
      </Button>
    </form>
  );
}
