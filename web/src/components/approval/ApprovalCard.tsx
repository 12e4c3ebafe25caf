/**
 * One decision: what would run, where, why it asks, who asks, and the buttons. The same in a chat's turn, in the inbox,
 * beside a form and on its own page. It never takes the focus; `a` and `d` work only while the card itself has it.
 */
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Approval, DecisionInput } from "../../api/approvals";
import { ApiError, messageOf } from "../../api/client";
import { approvalQuery } from "../../api/queries";
import type { Json } from "../../api/types";
import { inChord } from "../../frame/chord";
import { whyNot } from "../../lib/approval";
import { serverNow } from "../../lib/clock";
import { cx } from "../../lib/cx";
import { Buttons } from "./Buttons";
import { DecidedCard } from "./DecidedCard";
import { FrozenNote, Head, What, Why } from "./parts";
import { OpenSlots } from "./signing/OpenSlots";
import { ProcedureBlock } from "./signing/ProcedureBlock";
import { SignControls } from "./signing/SignControls";
import { Slots } from "./signing/Slots";
import { useDecision } from "./useDecision";

/** A card that has just appeared doesn't take the click that was meant for what stood there before. */
const SETTLE_MS = 400;

/** The card of an approval by its id: read, kept current, and told when it can't be. */
export function ApprovalCard({
  id,
  known,
  knownAt,
  whole,
}: {
  id: string;
  /** What a list said of it, and when it was read. */
  known?: Approval;
  knownAt?: number;
  whole?: boolean;
}) {
  const query = useQuery({ ...approvalQuery(id), initialData: known, initialDataUpdatedAt: knownAt });
  if (query.data) return <Card key={id} approval={query.data} whole={whole} />;
  if (query.error) {
    const hidden = query.error instanceof ApiError && [403, 404].includes(query.error.status);
    return (
      <p role="alert" className="rounded-card border border-line bg-surface px-4 py-3 text-13 text-muted">
        {hidden ? "A decision is asked for here that you may not see." : messageOf(query.error)}{" "}
        {!hidden && (
          <button type="button" className="underline underline-offset-2" onClick={() => void query.refetch()}>
            Try again
          </button>
        )}
      </p>
    );
  }
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-2 rounded-card border border-line p-4">
      <div className="skeleton h-4 w-2/3" />
      <div className="skeleton h-12 w-full" />
      <div className="skeleton h-8 w-1/2" />
    </div>
  );
}

function Card({ approval, whole }: { approval: Approval; whole?: boolean }) {
  const card = useRef<HTMLElement>(null);
  const heading = useId();
  const decision = useDecision(approval.id);
  const pending = approval.state === "pending";
  const [settled, setSettled] = useState(!pending);
  const [note, setNote] = useState("");
  const [revealed, setRevealed] = useState<Json | undefined>();
  const { signing } = approval;
  const acted = useRef(false);

  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  // The button that was pressed is gone; whoever pressed it goes on from the card.
  const signatures = signing?.signatures.length ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a signature takes its button away as well
  useLayoutEffect(() => {
    if (!acted.current) return;
    acted.current = false;
    if (document.activeElement === document.body || card.current?.contains(document.activeElement)) {
      card.current?.focus({ preventScroll: true });
    }
  }, [pending, signatures]);

  const decide = (input: DecisionInput) => {
    acted.current = true;
    decision.decide({ ...input, ...(note.trim() ? { note: note.trim() } : {}) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== card.current || event.repeat || inChord()) return;
    if (event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return;
    // What needs signatures isn't allowed with one key.
    if (event.key !== "d" && (event.key !== "a" || signing)) return;
    event.preventDefault();
    event.stopPropagation();
    // Whoever gave the card the focus meant it; there is nothing to settle.
    if (decision.busy || whyNot(approval, serverNow()) !== null) return;
    decide({ decision: event.key === "a" ? "allow_once" : "deny" });
  };

  const row = { settled, busy: decision.busy, note, onNote: setNote };
  const what = (
    <>
      <What approval={approval} revealed={revealed} onReveal={setRevealed} />
      {signing?.sop && <ProcedureBlock procedure={signing.sop} />}
      <Why approval={approval} />
      {pending && <FrozenNote />}
      {signing &&
        (pending ? <OpenSlots approval={approval} signing={signing} /> : <Slots signing={signing} waiting={false} />)}
    </>
  );
  return (
    <article
      ref={card}
      tabIndex={0}
      data-row
      data-approval={approval.id}
      data-approval-state={approval.state}
      aria-labelledby={heading}
      aria-keyshortcuts={pending && approval.may_decide ? (signing ? "D" : "A D") : undefined}
      onKeyDown={onKeyDown}
      className={cx(
        "min-w-0 rounded-card border bg-surface",
        !pending ? "border-line" : approval.class === "dangerous" ? "border-dangerous/50" : "border-mutating/50",
      )}
    >
      {pending ? (
        <div className="flex flex-col gap-3 p-4">
          <Head approval={approval} heading={heading} />
          {what}
          {signing ? (
            <SignControls
              approval={approval}
              signing={signing}
              args={revealed ?? approval.args}
              seen={!approval.has_hidden || revealed !== undefined}
              onSigned={() => {
                acted.current = true;
              }}
              {...row}
              onDeny={() => decide({ decision: "deny" })}
            />
          ) : (
            <Buttons {...row} approval={approval} onDecide={decide} />
          )}
          {decision.error && (
            <p role="alert" className="text-13 text-danger-text">
              {messageOf(decision.error)}
            </p>
          )}
        </div>
      ) : (
        <DecidedCard approval={approval} heading={heading} late={decision.late} whole={whole}>
          {what}
        </DecidedCard>
      )}
    </article>
  );
}
