/** Who has signed, and how many signatures are still open. */
import { CircleCheck, CircleDashed, RotateCcw } from "lucide-react";
import type { Signing } from "../../../api/signing";
import { cx } from "../../../lib/cx";
import { KIND_WORDS, type Slot, signedCount, slotsOf } from "../../../lib/signing";
import { Time } from "../../Time";

interface SlotsProps {
  signing: Signing;
  waiting: boolean;
  /** Why signatures are asked for again. */
  again?: string | null;
}

export function Slots({ signing, waiting, again }: SlotsProps) {
  return (
    <div role="group" aria-label="Signatures" className="flex flex-col gap-1.5 text-13">
      {waiting && again && (
        <p className="flex items-start gap-2 text-mutating" data-reopened>
          <RotateCcw aria-hidden size={14} className="mt-[3px] shrink-0" />
          {again}
        </p>
      )}
      <ol className={cx("grid gap-2", signing.needed > 1 && "sm:grid-cols-2")}>
        {slotsOf(signing).map((slot, index) => (
          <SlotRow key={index} slot={slot} waiting={waiting} />
        ))}
      </ol>
      {waiting && signing.not_after && (
        <p className="text-12 text-muted">
          Signatures are void at <Time at={signing.not_after} clock />, or when the host's agent starts anew.
        </p>
      )}
      {waiting && (
        <p role="status" className="sr-only">
          {signedCount(signing)}
        </p>
      )}
    </div>
  );
}

function SlotRow({ slot: { by, keyFileOnly }, waiting }: { slot: Slot; waiting: boolean }) {
  return (
    <li
      data-slot={by ? by.person : "open"}
      className={cx(
        "flex min-w-0 items-start gap-2 rounded-control border px-3 py-2",
        by ? "border-line bg-bg" : "border-dashed border-line text-muted",
      )}
    >
      {by ? (
        <>
          <CircleCheck aria-hidden size={14} className="mt-[3px] shrink-0 text-safe" />
          <span className="min-w-0">
            <span className="block font-medium break-words">
              {by.person} <span className="font-normal text-muted">signed</span>
            </span>
            <span className="block text-12 text-muted">
              {KIND_WORDS[by.kind]} <code className="font-mono">{by.key}</code>, <Time at={by.at} />
            </span>
          </span>
        </>
      ) : (
        <>
          <CircleDashed aria-hidden size={14} className="mt-[3px] shrink-0" />
          <span className="min-w-0">
            <span className="block">{waiting ? "Open" : "Nobody signed"}</span>
            {keyFileOnly && waiting && <span className="block text-12">a key file's only</span>}
          </span>
        </>
      )}
    </li>
  );
}
