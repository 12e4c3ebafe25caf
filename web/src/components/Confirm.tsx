/** Asks before something that can't be taken back. */
import { type ReactNode, useState } from "react";
import { messageOf } from "../api/client";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field, TextInput } from "./Field";

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  action: string;
  /** What must be typed first, such as the host's name. */
  typed?: string;
  /** Why it can't be done. */
  reason?: string | null;
  onConfirm: () => Promise<unknown>;
}

export function Confirm({ open, onClose, title, children, action, typed, reason, onConfirm }: ConfirmProps) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const close = () => {
    setText("");
    setProblem(null);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      close();
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={title}
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button
            look="danger"
            busy={busy}
            reason={reason}
            disabled={typed !== undefined && text !== typed}
            onClick={() => void confirm()}
          >
            {action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-13">
        {children}
        {typed !== undefined && (
          <Field label={`Type ${typed} to confirm`}>
            {(field) => (
              <TextInput
                {...field}
                value={text}
                onChange={(event) => setText(event.target.value)}
                className="font-mono"
              />
            )}
          </Field>
        )}
        {problem && (
          <p role="alert" className="text-danger-text">
            {problem}
          </p>
        )}
      </div>
    </Dialog>
  );
}
