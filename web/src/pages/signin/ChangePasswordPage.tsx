import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, messageOf } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Button } from "../../components/Button";
import { Field, TextInput } from "../../components/Field";
import { toast } from "../../components/toasts";
import { Sheet } from "./Sheet";

const LEAST_CHARACTERS = 12;

export function ChangePasswordForm({ onDone }: { onDone?: () => void }) {
  const client = useQueryClient();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [tried, setTried] = useState(false);
  const tooShort = next.length < LEAST_CHARACTERS ? `At least ${LEAST_CHARACTERS} characters.` : null;
  const differs = next !== again ? "The two are not the same." : null;
  const change = useMutation({
    mutationFn: () => api.changePassword(current, next),
    onSuccess: (me) => {
      client.setQueryData(meQuery.queryKey, me);
      toast("The password was changed.");
      onDone?.();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (!tooShort && !differs) change.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Current password">
        {(field) => (
          <TextInput
            {...field}
            required
            type="password"
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="New password"
        error={tried ? tooShort : null}
        hint={tried && tooShort ? undefined : `At least ${LEAST_CHARACTERS} characters; a few words are good.`}
      >
        {(field) => (
          <TextInput
            {...field}
            required
            type="password"
            autoComplete="new-password"
            value={next}
            onChange={(event) => setNext(event.target.value)}
          />
        )}
      </Field>
      <Field label="New password again" error={tried ? differs : null}>
        {(field) => (
          <TextInput
            {...field}
            required
            type="password"
            autoComplete="new-password"
            value={again}
            onChange={(event) => setAgain(event.target.value)}
          />
        )}
      </Field>
      {change.error && (
        <p role="alert" className="text-13 text-danger-text">
          {messageOf(change.error)}
        </p>
      )}
      <Button type="submit" look="primary" busy={change.isPending}>
        Change the password
      </Button>
    </form>
  );
}

export function ChangePasswordPage({ forced }: { forced?: boolean }) {
  return (
    <Sheet
      title="Choose a password"
      lead={forced ? "The first password was for one use. Choose your own to go on." : "It takes effect at once."}
    >
      <ChangePasswordForm />
    </Sheet>
  );
}
