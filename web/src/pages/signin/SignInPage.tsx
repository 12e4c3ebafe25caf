import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, messageOf } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Button } from "../../components/Button";
import { Field, TextInput } from "../../components/Field";
import { Sheet } from "./Sheet";

export function SignInPage() {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => api.signIn(name, password),
    onSuccess: (me) => client.setQueryData(meQuery.queryKey, me),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <Sheet title="Sign in" lead="The first password was printed when the manager started.">
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label="Name">
          {(field) => (
            <TextInput
              {...field}
              autoFocus
              required
              name="username"
              autoComplete="username"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="Password">
          {(field) => (
            <TextInput
              {...field}
              required
              type="password"
              name="password"
              autoComplete="current-password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        {signIn.error && (
          <p role="alert" className="text-13 text-danger-text">
            {messageOf(signIn.error)}
          </p>
        )}
        <Button type="submit" look="primary" busy={signIn.isPending}>
          Sign in
        </Button>
      </form>
    </Sheet>
  );
}
