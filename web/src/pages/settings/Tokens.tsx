import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, messageOf } from "../../api/client";
import { tokensQuery } from "../../api/queries";
import type { ApiToken, TokenScope } from "../../api/types";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { CopyButton } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { CheckBox, Field, Select, TextInput } from "../../components/Field";
import { Card } from "../../components/Page";
import { Failed, SkeletonRows } from "../../components/States";
import { Time } from "../../components/Time";
import { Chip } from "../../components/Words";
import { TOKEN_SCOPES } from "./scopes";

export function Tokens() {
  const tokens = useQuery(tokensQuery);
  const [adding, setAdding] = useState(false);
  return (
    <Card
      title="API tokens"
      actions={
        <Button size="small" look="quiet" icon={Plus} onClick={() => setAdding(true)}>
          Make a token
        </Button>
      }
    >
      {tokens.error && (
        <Failed what="The tokens could not be read." error={tokens.error} onRetry={() => void tokens.refetch()} />
      )}
      {tokens.isPending && <SkeletonRows rows={2} />}
      {tokens.data?.length === 0 && (
        <p className="p-4 text-13 text-muted">
          For programs that use the API in your name, with less than your rights. A token never approves anything.
        </p>
      )}
      <ul className="text-13">
        {tokens.data?.map((token) => (
          <TokenRow key={token.id} token={token} />
        ))}
      </ul>
      <Dialog open={adding} onClose={() => setAdding(false)} title="Make a token">
        <TokenForm onDone={() => setAdding(false)} />
      </Dialog>
    </Card>
  );
}

function TokenRow({ token }: { token: ApiToken }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  return (
    <li className="flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line/60 px-4 py-1 last:border-b-0">
      <span className="min-w-32 flex-1">
        <span className="font-medium">{token.name}</span>{" "}
        {token.hint && <span className="font-mono text-12 text-muted">{token.hint}…</span>}
      </span>
      <span className="flex flex-wrap gap-1">
        {token.scopes.map((scope) => (
          <Chip key={scope}>{scope}</Chip>
        ))}
      </span>
      <span className="num w-48 text-12 text-muted max-md:hidden">
        {token.last_used_at ? (
          <>
            used <Time at={token.last_used_at} />
          </>
        ) : (
          "never used"
        )}
      </span>
      <span className="num w-48 text-12 text-muted max-md:hidden">
        {token.expires_at ? (
          <>
            until <Time at={token.expires_at} />
          </>
        ) : (
          "no end"
        )}
      </span>
      <Button size="small" look="danger" onClick={() => setAsking(true)}>
        Revoke
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={`Revoke ${token.name}?`}
        action="Revoke"
        onConfirm={async () => {
          await api.deleteToken(token.id);
          await client.invalidateQueries({ queryKey: tokensQuery.queryKey });
        }}
      >
        <p>Programs that use it are refused at once.</p>
      </Confirm>
    </li>
  );
}

function TokenForm({ onDone }: { onDone: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<TokenScope[]>(["read"]);
  const [days, setDays] = useState("90");
  const make = useMutation({
    mutationFn: () =>
      api.createToken({ name: name.trim(), scopes, ...(days ? { expires_in_days: Number(days) } : {}) }),
    onSuccess: () => client.invalidateQueries({ queryKey: tokensQuery.queryKey }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    make.mutate();
  };
  if (make.data?.token) {
    return (
      <div className="flex flex-col gap-3">
        <p className="text-13">Copy it now. It is kept only as a hash and can't be shown again.</p>
        <div className="relative rounded-control border border-line bg-bg p-3 pr-10 font-mono text-12 break-all">
          {make.data.token}
          <div className="absolute top-1.5 right-1.5">
            <CopyButton text={make.data.token} label="Copy the token" tipSide="left" />
          </div>
        </div>
        <Button className="self-end" onClick={onDone}>
          Done
        </Button>
      </div>
    );
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <Field label="Name" hint="What uses it.">
        {(field) => <TextInput {...field} required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-13 font-medium">It may</legend>
        {TOKEN_SCOPES.map(({ scope, what }) => (
          <CheckBox
            key={scope}
            label={what}
            hint={<span className="font-mono">{scope}</span>}
            checked={scopes.includes(scope)}
            onChange={(event) =>
              setScopes(event.target.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
            }
          />
        ))}
      </fieldset>
      <Field label="Ends after">
        {(field) => (
          <Select {...field} value={days} onChange={(event) => setDays(event.target.value)}>
            <option value="7">7 days</option>
            <option value="30">30 days</option>
            <option value="90">90 days</option>
            <option value="365">1 year</option>
          </Select>
        )}
      </Field>
      {make.error && (
        <p role="alert" className="text-13 text-danger-text">
          {messageOf(make.error)}
        </p>
      )}
      <Button type="submit" look="primary" className="self-end" busy={make.isPending} disabled={scopes.length === 0}>
        Make
      </Button>
    </form>
  );
}
