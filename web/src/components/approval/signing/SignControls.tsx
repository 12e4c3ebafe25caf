/** Signing and denying from a card: by passkey here, by a key file on a command line. */
import { Link } from "@tanstack/react-router";
import { Fingerprint, Info } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { Approval } from "../../../api/approvals";
import type { Signing } from "../../../api/signing";
import type { Json } from "../../../api/types";
import { useMe } from "../../../frame/session";
import { whyNot, whyNotSign } from "../../../lib/approval";
import { useServerSeconds } from "../../../lib/clock";
import { keyFileCommands, whyNoPasskeyNow } from "../../../lib/signing";
import { Button } from "../../Button";
import { CopyButton } from "../../Copy";
import { Field, TextInput } from "../../Field";
import { big, DenyRow, Key, MayNot } from "../Buttons";
import { useSigning } from "./useSigning";

interface SignControlsProps {
  approval: Approval;
  signing: Signing;
  /** The arguments as the card shows them. */
  args: Json;
  /** Nothing of them is hidden. */
  seen: boolean;
  settled: boolean;
  busy: boolean;
  note: string;
  onNote: (note: string) => void;
  onDeny: () => void;
  onSigned: () => void;
}

export function SignControls({ approval, signing, args, seen, onSigned, onDeny, ...row }: SignControlsProps) {
  const now = useServerSeconds();
  const noSigning = whyNotSign(approval, now);
  const mayDeny = whyNot(approval, now) === null;
  return (
    <div className="flex flex-col gap-3">
      {noSigning === null ? (
        <Sign approval={approval} signing={signing} args={args} seen={seen} onSigned={onSigned} settled={row.settled} />
      ) : (
        <MayNot reason={noSigning} />
      )}
      {mayDeny && (
        <>
          <DenyRow {...row} approval={approval} onDeny={onDeny} />
          <p className="text-12 text-muted max-md:hidden">
            With the card focused, <Key>d</Key> denies. Signing takes the button.
          </p>
        </>
      )}
    </div>
  );
}

type SignProps = Pick<SignControlsProps, "approval" | "signing" | "args" | "seen" | "settled" | "onSigned">;

function Sign({ approval, signing, args, seen, settled, onSigned }: SignProps) {
  const { sign, busy, problem, noPasskeys, ready } = useSigning({ approval, signing, args, onSigned });
  const [typed, setTyped] = useState("");
  const host = signing.host_name_required ? approval.edge_name : null;
  const noPasskeyNow = noPasskeys ?? whyNoPasskeyNow(signing);
  const keyFile = signing.my_keys.some((key) => key.kind === "ed25519");
  const unnamed = host !== null && typed !== host;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (settled && seen && !busy && !unnamed && ready) sign(host ?? undefined);
  };
  return (
    <div className="flex flex-col gap-3">
      {noPasskeyNow === null ? (
        <form onSubmit={submit} className="flex flex-col gap-3">
          {host !== null && (
            <Field label={`Type ${host} to confirm the host`}>
              {(field) => (
                <TextInput
                  {...field}
                  autoCapitalize="none"
                  value={typed}
                  onChange={(event) => setTyped(event.target.value)}
                  className={`font-mono ${big}`}
                />
              )}
            </Field>
          )}
          {!seen && <Told text="What is hidden is signed as well: reveal it first." />}
          <Button
            type="submit"
            look="primary"
            icon={Fingerprint}
            busy={busy}
            disabled={!settled || !ready || !seen || unnamed}
            className={`${big} md:self-start`}
          >
            Sign with a passkey
          </Button>
        </form>
      ) : (
        <Told text={noPasskeyNow} />
      )}
      {problem && (
        <p role="alert" className="text-13 text-danger-text">
          {problem}
        </p>
      )}
      {keyFile ? (
        <KeyFile approval={approval} open={noPasskeyNow !== null} />
      ) : (
        noPasskeyNow !== null && (
          <p className="text-13 text-muted">
            <Link to="/settings/keys" className="text-accent-text underline underline-offset-2">
              Your approval keys
            </Link>{" "}
            are offered there, and count once the list of approvers has them.
          </p>
        )
      )}
    </div>
  );
}

function Told({ text }: { text: string }) {
  return (
    <p className="flex items-start gap-2 text-13" data-no-passkey>
      <Info aria-hidden size={14} className="mt-[3px] shrink-0 text-muted" />
      {text}
    </p>
  );
}

/** The same signature made outside of any browser. */
function KeyFile({ approval, open }: { approval: Approval; open: boolean }) {
  const { show, sign } = keyFileCommands(approval, useMe().user.name);
  return (
    <details open={open} className="text-13" data-key-file>
      <summary className="w-max max-w-full rounded-control text-muted hover:text-text max-md:py-3">
        Sign with a key file
      </summary>
      <div className="mt-2 flex flex-col gap-2">
        <p className="text-12 text-muted">
          Where your key file is, with an API token that may bring signatures. The first prints what is signed and
          computes its digest anew; the second signs it.
        </p>
        <Command text={show} label="Copy the command that shows it" />
        <Command text={sign} label="Copy the command that signs it" />
      </div>
    </details>
  );
}

function Command({ text, label }: { text: string; label: string }) {
  return (
    <div className="relative">
      <pre
        tabIndex={0}
        className="rounded-control border border-line bg-bg p-2 pr-9 font-mono text-12 break-all whitespace-pre-wrap max-md:min-h-11 max-md:pr-14"
      >
        {text}
      </pre>
      <div className="absolute top-1 right-1 rounded-control bg-bg">
        <CopyButton text={text} label={label} tipSide="left" className="size-6 max-md:size-11" />
      </div>
    </div>
  );
}
