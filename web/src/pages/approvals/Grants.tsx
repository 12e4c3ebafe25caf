/** What runs without asking, and taking that back. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Grant } from "../../api/approvals";
import { api } from "../../api/client";
import { grantsQuery } from "../../api/queries";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { CheckBox } from "../../components/Field";
import { gistOf } from "../../components/result/shape";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { Time } from "../../components/Time";
import { Chip } from "../../components/Words";
import { useMe } from "../../frame/session";
import { placeOfGrant } from "../../lib/approval";
import { may } from "../../lib/may";

const STATE_WORDS: Record<Grant["state"], string> = {
  active: "active",
  expired: "expired",
  used_up: "used up",
  revoked: "revoked",
  void: "void: the tool changed",
};

export function Grants() {
  const grants = useQuery(grantsQuery);
  const search = useSearch({ from: "/approvals" });
  const navigate = useNavigate({ from: "/approvals" });
  if (grants.error)
    return <Failed what="The grants could not be read." error={grants.error} onRetry={() => void grants.refetch()} />;
  if (!grants.data) return <SkeletonRows rows={4} height={56} />;
  const ended = grants.data.filter((grant) => grant.state !== "active").length;
  const shown = grants.data.filter((grant) => search.ended || grant.state === "active");
  return (
    <>
      {ended > 0 && (
        <div className="px-4 py-3 md:px-6">
          <CheckBox
            label={`Also those that hold no more (${ended})`}
            checked={search.ended ?? false}
            onChange={(event) =>
              void navigate({
                search: (old) => ({ ...old, ended: event.target.checked || undefined }),
                replace: true,
              })
            }
          />
        </div>
      )}
      {shown.length === 0 ? (
        <Empty icon={KeyRound} title="Nothing runs without asking">
          “Allow in this chat” and “Always…” on a card make a standing grant. It is listed here with what it covers,
          since when, and when it was used last, and is revoked with one click.
        </Empty>
      ) : (
        <ul aria-label="Standing grants" className="border-t border-line/60 text-13">
          {shown.map((grant) => (
            <GrantRow key={grant.id} grant={grant} />
          ))}
        </ul>
      )}
    </>
  );
}

function GrantRow({ grant }: { grant: Grant }) {
  const me = useMe();
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const active = grant.state === "active";
  const gist = grant.args === undefined || grant.args === null ? null : gistOf(grant.args);
  return (
    <li
      data-grant={grant.id}
      data-grant-state={grant.state}
      className="flex min-h-12 flex-wrap items-center gap-x-6 gap-y-1 border-b border-line/60 px-4 py-2 md:px-6"
    >
      <div className="min-w-56 flex-1">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="font-mono text-12 font-medium">{grant.tool}</span>
          <span>{placeOfGrant(grant)}</span>
          {!active && <Chip>{STATE_WORDS[grant.state]}</Chip>}
        </p>
        <p className="text-12 text-muted">
          {gist === null ? (
            "with any arguments"
          ) : (
            <>
              only <code className="font-mono break-all">{gist || "without arguments"}</code>
            </>
          )}
          {grant.session_id && (
            <>
              {" · in "}
              <Link
                to="/chat/$sessionId"
                params={{ sessionId: grant.session_id }}
                className="underline underline-offset-2 hover:text-text"
              >
                {grant.session_title || "one chat"}
              </Link>
            </>
          )}
        </p>
      </div>
      <div className="text-12 text-muted md:w-44">
        <p className="truncate text-text">for {grant.person.name}</p>
        <p className="truncate">
          by {grant.created_by.name}, <Time at={grant.created_at} />
        </p>
      </div>
      <div className="text-12 text-muted md:w-52">
        <p>
          {grant.last_used_at ? (
            <>
              used {grant.uses === 1 ? "once" : `${grant.uses} times`}, last <Time at={grant.last_used_at} />
            </>
          ) : (
            "never used"
          )}
        </p>
        <p>
          {grant.expires_at ? (
            <>
              until <Time at={grant.expires_at} />
            </>
          ) : grant.session_id ? (
            "as long as the chat"
          ) : (
            "no end"
          )}
          {typeof grant.uses_left === "number" &&
            ` · ${grant.uses_left === 1 ? "one use left" : `${grant.uses_left} uses left`}`}
        </p>
      </div>
      <div className="empty:hidden max-md:w-full md:w-20">
        {active && (
          <Button
            size="small"
            look="danger"
            className="max-md:h-11 max-md:w-full"
            reason={may.revokeGrant(me, grant)}
            onClick={() => setAsking(true)}
          >
            Revoke
          </Button>
        )}
      </div>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={`Revoke the grant for ${grant.tool}?`}
        action="Revoke"
        onConfirm={async () => {
          await api.revokeGrant(grant.id);
          await client.invalidateQueries({ queryKey: grantsQuery.queryKey });
        }}
      >
        <p>
          From now on {grant.tool} {placeOfGrant(grant)} asks again. What runs already isn't touched.
        </p>
      </Confirm>
    </li>
  );
}
