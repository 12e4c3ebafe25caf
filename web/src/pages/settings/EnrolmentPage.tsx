import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { KeyRound, Plus } from "lucide-react";
import { api, messageOf } from "../../api/client";
import { enrollmentTokensQuery } from "../../api/queries";
import type { EnrollmentToken } from "../../api/types";
import { Button } from "../../components/Button";
import { Card, Page } from "../../components/Page";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { Time } from "../../components/Time";
import { toast } from "../../components/toasts";
import { Labels } from "../../components/Words";
import { useFrame } from "../../frame/actions";
import { useMe } from "../../frame/session";
import { may } from "../../lib/may";

export function EnrolmentPage() {
  const { addHost } = useFrame();
  const tokens = useQuery(enrollmentTokensQuery);
  const button = (
    <Button look="primary" icon={Plus} onClick={addHost}>
      Add a host
    </Button>
  );
  return (
    <Page title="Enrolment" actions={button}>
      <div className="flex max-w-3xl flex-col gap-3 px-4 pb-6 md:px-6">
        <p className="text-13 text-muted">
          A token lets one host enrol, once, within an hour at most. Open ones can be withdrawn.
        </p>
        {tokens.error && (
          <Failed what="The tokens could not be read." error={tokens.error} onRetry={() => void tokens.refetch()} />
        )}
        {tokens.isPending && <SkeletonRows rows={3} />}
        {tokens.data?.length === 0 && (
          <Empty icon={KeyRound} title="No enrolment tokens">
            They are made while adding a host.
          </Empty>
        )}
        {tokens.data && tokens.data.length > 0 && (
          <Card>
            <ul className="text-13">
              {tokens.data.map((token) => (
                <TokenRow key={token.id} token={token} />
              ))}
            </ul>
          </Card>
        )}
      </div>
    </Page>
  );
}

function TokenRow({ token }: { token: EnrollmentToken }) {
  const client = useQueryClient();
  const reason = may.enrolHosts(useMe());
  const revoke = useMutation({
    mutationFn: () => api.revokeEnrollmentToken(token.id),
    onSuccess: () => client.invalidateQueries({ queryKey: enrollmentTokensQuery.queryKey }),
    onError: (error) => toast(messageOf(error), "error"),
  });
  return (
    <li className="flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line/60 px-4 py-1 last:border-b-0">
      <span className="w-16 font-medium">{token.state}</span>
      <span className="min-w-0 flex-1 text-muted">
        {token.labels && <Labels labels={token.labels} />}{" "}
        {token.edge_id ? (
          <Link to="/hosts/$hostId" params={{ hostId: String(token.edge_id) }} className="underline underline-offset-2">
            host {token.edge_id}
          </Link>
        ) : null}
      </span>
      <span className="text-12 text-muted">
        {token.state === "open" ? "until " : "ended "}
        <Time at={token.expires_at} />
      </span>
      {token.state === "open" && (
        <Button size="small" look="danger" busy={revoke.isPending} reason={reason} onClick={() => revoke.mutate()}>
          Withdraw
        </Button>
      )}
    </li>
  );
}
