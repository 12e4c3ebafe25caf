/** The buttons of a card that one decision settles, and the row that denies any. */
import { Ban, Check, CheckCheck } from "lucide-react";
import type { Approval, DecisionInput } from "../../api/approvals";
import { whyNot } from "../../lib/approval";
import { useServerSeconds } from "../../lib/clock";
import { cx } from "../../lib/cx";
import { sentence } from "../../lib/format";
import { Button } from "../Button";
import { TextInput } from "../Field";
import { Inline } from "../Inline";
import { Popover } from "../Popover";
import { AlwaysForm } from "./AlwaysForm";

const NOTE_MAX = 2000;
/** For thumbs. */
export const big = "max-md:h-11";

/** Why there are no buttons. */
export function MayNot({ reason }: { reason: string }) {
  return (
    <p className="flex items-start gap-2 rounded-control border border-line bg-bg px-3 py-2 text-13" data-may-not>
      <Ban aria-hidden size={14} className="mt-[3px] shrink-0 text-muted" />
      <span className="min-w-0">
        <Inline text={sentence(reason)} />
      </span>
    </p>
  );
}

interface RowProps {
  approval: Approval;
  settled: boolean;
  busy: boolean;
  note: string;
  onNote: (note: string) => void;
}

interface ButtonsProps extends RowProps {
  onDecide: (input: DecisionInput) => void;
}

export function Buttons({ approval, settled, busy, note, onNote, onDecide }: ButtonsProps) {
  const reason = whyNot(approval, useServerSeconds());
  if (reason !== null) return <MayNot reason={reason} />;
  const disabled = busy || !settled;
  const exact = approval.args_scope_fixed ? "exactly this command" : "this tool";
  return (
    <div className="flex flex-col gap-2">
      <div className="grid grid-cols-2 gap-2 md:flex md:flex-wrap">
        <Button
          look="primary"
          icon={Check}
          busy={busy}
          disabled={disabled}
          className={cx(big, "max-md:col-span-2")}
          onClick={() => onDecide({ decision: "allow_once" })}
        >
          Allow once
        </Button>
        {approval.session_id && approval.may_always && (
          <Button
            disabled={disabled}
            title={`For the rest of this chat, ${exact} runs on ${approval.edge_name ?? "the manager"} without asking`}
            className={big}
            onClick={() => onDecide({ decision: "allow_chat" })}
          >
            Allow in this chat
          </Button>
        )}
        {approval.may_always && (
          <Popover
            label={`Always allow ${approval.tool}`}
            role="dialog"
            align="start"
            className="max-h-[80dvh] w-80 max-w-[calc(100vw-16px)] overflow-y-auto p-3"
            button={(button) => (
              <Button icon={CheckCheck} disabled={disabled} className={big} {...button}>
                Always…
              </Button>
            )}
          >
            {(close) => (
              <AlwaysForm
                approval={approval}
                onAllow={(grant) => {
                  close();
                  onDecide({ decision: "allow_always", grant });
                }}
              />
            )}
          </Popover>
        )}
      </div>
      <DenyRow
        approval={approval}
        settled={settled}
        busy={busy}
        note={note}
        onNote={onNote}
        onDeny={() => onDecide({ decision: "deny" })}
      />
      <p className="text-12 text-muted max-md:hidden">
        With the card focused, <Key>a</Key> allows once and <Key>d</Key> denies.
      </p>
    </div>
  );
}

export function Key({ children }: { children: string }) {
  return <kbd className="rounded-[4px] border border-line bg-raised px-1 font-sans">{children}</kbd>;
}

/** A note, and the button that denies. */
export function DenyRow({ approval, settled, busy, note, onNote, onDeny }: RowProps & { onDeny: () => void }) {
  return (
    <div className="flex gap-2">
      <TextInput
        aria-label="Note with the decision (optional)"
        placeholder={approval.by_model ? "Note to the model (optional)" : "Note (optional)"}
        maxLength={NOTE_MAX}
        disabled={busy}
        value={note}
        onChange={(event) => onNote(event.target.value)}
        className={cx("min-w-0 flex-1", big)}
      />
      <Button look="danger" icon={Ban} disabled={busy || !settled} className={big} onClick={onDeny}>
        Deny
      </Button>
    </div>
  );
}
