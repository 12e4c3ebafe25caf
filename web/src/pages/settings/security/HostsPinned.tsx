/** Each host's own word on signatures. It is set in the host's file, and shown here. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { hostsQuery } from "../../../api/queries";
import { approversQuery } from "../../../api/signing-queries";
import type { Host } from "../../../api/types";
import { Card } from "../../../components/Page";
import { Failed, SkeletonRows } from "../../../components/States";
import { HostStateWord } from "../../../components/Words";
import { mismatches, PROOF_WORDS, whyDangerousOff } from "../../../lib/signing";

export function HostsPinned() {
  const query = useQuery(hostsQuery);
  const hosts = query.data?.filter((host) => host.state !== "revoked") ?? [];
  return (
    <Card title="Hosts">
      {query.error && (
        <Failed what="The hosts could not be read." error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <SkeletonRows rows={3} />}
      {query.data && hosts.length === 0 && <p className="p-4 text-13 text-muted">No host is enrolled yet.</p>}
      <ul aria-label="What hosts ask for" className="text-13 empty:hidden">
        {hosts.map((host) => (
          <HostRow key={host.id} host={host} />
        ))}
      </ul>
    </Card>
  );
}

function HostRow({ host }: { host: Host }) {
  const approvers = useQuery(approversQuery).data;
  const { signing } = host;
  const off = signing ? whyDangerousOff(signing) : [];
  const problems = signing ? mismatches(signing, approvers) : [];
  return (
    <li
      data-host-signing={host.name}
      className="flex flex-wrap items-start gap-x-4 gap-y-1 border-b border-line/60 px-4 py-2 last:border-b-0"
    >
      <div className="w-40 min-w-0">
        <Link
          to="/hosts/$hostId"
          params={{ hostId: String(host.id) }}
          className="block truncate font-medium underline-offset-2 hover:underline"
        >
          {host.name}
        </Link>
        <span className="text-12">
          <HostStateWord value={host.state} reason={host.state_reason} />
        </span>
      </div>
      <div className="flex min-w-56 flex-1 flex-col gap-1">
        {signing ? (
          <>
            <p>Changes rest on {PROOF_WORDS[signing.approval_proof]}.</p>
            <p className="text-muted">
              {off.length === 0 ? "Dangerous calls can run." : `Dangerous calls are off: ${off.join("; ")}.`}
            </p>
            {problems.map((problem) => (
              <p key={problem} className="flex items-start gap-2 text-mutating">
                <TriangleAlert aria-hidden size={14} className="mt-[3px] shrink-0" />
                {problem}
              </p>
            ))}
          </>
        ) : (
          <p className="text-muted">Nothing is known of it: the host tells when it connects.</p>
        )}
      </div>
    </li>
  );
}
