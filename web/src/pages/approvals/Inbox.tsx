/** Pending approvals, newest first, each decided where it stands. Cards don't move while somebody is at them. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowUp, ShieldCheck } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Approval } from "../../api/approvals";
import { pendingApprovalsQuery } from "../../api/queries";
import { ApprovalCard } from "../../components/approval/ApprovalCard";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { ClassWord } from "../../components/Words";
import { arrange } from "../../lib/approval";

export function Inbox() {
  const pending = useQuery(pendingApprovalsQuery);
  const list = useRef<HTMLUListElement>(null);
  const [shown, setShown] = useState<string[]>([]);
  const [held, setHeld] = useState(0);
  const busy = useRef(false);
  // Cards as they were when they came: what was decided is no longer in the list but stays on the screen.
  const known = useRef(new Map<string, Approval>());
  for (const each of pending.data ?? []) known.current.set(each.id, each);

  const take = (always: boolean) => {
    if (!pending.data) return;
    const next = arrange(
      shown,
      pending.data.map((each) => each.id),
      !always && busy.current,
    );
    setHeld(next.held);
    if (next.shown.length !== shown.length) setShown(next.shown);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list is the occasion
  useEffect(() => take(false), [pending.data]);

  if (pending.error)
    return (
      <Failed
        what="The inbox could not be read."
        error={pending.error}
        kept="What waits goes on waiting."
        onRetry={() => void pending.refetch()}
      />
    );
  if (!pending.data) return <SkeletonRows rows={4} height={96} />;
  const none = shown.length === 0 && pending.data.length === 0;
  return (
    <div className="mx-auto flex max-w-[760px] flex-col gap-3 p-4 md:p-6">
      <p role="status" className="sr-only">
        {pending.data.length === 0 ? "Nothing waits for a decision" : `${pending.data.length} wait for a decision`}
      </p>
      {held > 0 && (
        <button
          type="button"
          onClick={() => take(true)}
          className="sticky top-2 z-10 flex h-8 items-center gap-1.5 self-center rounded-full border border-line bg-raised px-3 text-12 shadow-overlay max-md:h-11"
        >
          <ArrowUp aria-hidden size={12} /> {held === 1 ? "1 new" : `${held} new`}
        </button>
      )}
      {none ? (
        <Nothing />
      ) : (
        <ul
          ref={list}
          aria-label="Waiting for a decision, newest first"
          className="flex flex-col gap-3"
          onPointerEnter={() => {
            busy.current = true;
          }}
          onPointerLeave={() => {
            busy.current = false;
            take(false);
          }}
          onFocus={() => {
            busy.current = true;
          }}
          onBlur={(event) => {
            if (event.currentTarget.contains(event.relatedTarget)) return;
            busy.current = false;
            take(false);
          }}
        >
          {shown.map((id) => (
            <li key={id}>
              <ApprovalCard id={id} known={known.current.get(id)} knownAt={pending.dataUpdatedAt} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Nothing() {
  return (
    <Empty
      icon={ShieldCheck}
      title="Nothing waits for a decision"
      action={
        <Link
          to="/skills"
          search={{ class: "mutating" }}
          className="text-13 text-accent-text underline underline-offset-2"
        >
          See the skills that need one
        </Link>
      }
    >
      <p>
        Calls that change something wait here until a person allows or denies them: the whole arguments, the exact host,
        who asked and how long there is to decide.
      </p>
      <ul className="mx-auto mt-4 flex w-max max-w-full flex-col gap-2 text-left">
        {(
          [
            ["safe", "runs without asking"],
            ["mutating", "needs one approval"],
            ["dangerous", "needs a signed procedure and two people"],
          ] as const
        ).map(([value, what]) => (
          <li key={value} className="flex items-center gap-3">
            <span className="flex w-24 shrink-0">
              <ClassWord value={value} />
            </span>
            {what}
          </li>
        ))}
      </ul>
    </Empty>
  );
}
