/** Labels → one command to paste → waits, and turns green by itself. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck, LoaderCircle, TimerOff } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, messageOf } from "../../api/client";
import { enrollmentTokenQuery, hostsQuery } from "../../api/queries";
import type { NewEnrollmentToken } from "../../api/types";
import { Button } from "../../components/Button";
import { CopyButton } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { Field, Select, TextInput } from "../../components/Field";
import { useMe } from "../../frame/session";
import { useSeconds } from "../../lib/clock";
import { cx } from "../../lib/cx";
import { formatCountdown } from "../../lib/format";
import { parseLabels } from "../../lib/labels";
import { may } from "../../lib/may";

const LIFETIMES = [
  { seconds: 900, word: "15 minutes" },
  { seconds: 1800, word: "30 minutes" },
  { seconds: 3600, word: "1 hour" },
];

export function AddHostSheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Add a host" kind="sheet">
      <Steps onClose={onClose} />
    </Dialog>
  );
}

function Steps({ onClose }: { onClose: () => void }) {
  const reason = may.enrolHosts(useMe());
  const [labels, setLabels] = useState("");
  const [seconds, setSeconds] = useState(900);
  const [token, setToken] = useState<NewEnrollmentToken | null>(null);
  const parsed = parseLabels(labels);
  const create = useMutation({
    mutationFn: () => api.createEnrollmentToken(parsed.labels, seconds),
    onSuccess: setToken,
  });
  return (
    <ol className="flex flex-col gap-6">
      <Step number={1} title="Labels" done={token !== null}>
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            if (!parsed.problem) create.mutate();
          }}
        >
          <Field
            label="Labels of the new host"
            error={parsed.problem}
            hint="For example role=db, site=fra. You can change them later."
          >
            {(field) => (
              <TextInput
                {...field}
                className="font-mono"
                disabled={token !== null}
                value={labels}
                onChange={(event) => setLabels(event.target.value)}
              />
            )}
          </Field>
          <Field label="The command works for">
            {(field) => (
              <Select
                {...field}
                disabled={token !== null}
                value={seconds}
                onChange={(event) => setSeconds(Number(event.target.value))}
              >
                {LIFETIMES.map((each) => (
                  <option key={each.seconds} value={each.seconds}>
                    {each.word}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          {create.error && (
            <p role="alert" className="text-13 text-danger-text">
              {messageOf(create.error)}
            </p>
          )}
          {!token && (
            <div className="flex items-center gap-2">
              <Button type="submit" look="primary" busy={create.isPending} reason={reason}>
                Make the command
              </Button>
              {reason && <span className="text-12 text-muted">{reason}</span>}
            </div>
          )}
        </form>
      </Step>
      <Step number={2} title="Run this on the host, as root" done={false} waiting={!token}>
        {token && (
          <div className="flex flex-col gap-2">
            <div
              className="relative rounded-control border border-line bg-bg p-3 pr-10 font-mono text-12 break-all"
              data-enroll-command
            >
              {token.command}
              <div className="absolute top-1.5 right-1.5">
                <CopyButton text={token.command} label="Copy the command" tipSide="left" />
              </div>
            </div>
            <p className="text-12 break-all text-muted">
              It works once. The host checks that it talks to this manager by the key{" "}
              <span className="font-mono">{token.ca_pin}</span>
            </p>
          </div>
        )}
      </Step>
      <Step number={3} title="Wait for the host" done={false} waiting={!token}>
        {token && (
          <Waiting
            token={token}
            onAgain={() => {
              setToken(null);
              create.reset();
            }}
            onClose={onClose}
          />
        )}
      </Step>
    </ol>
  );
}

function Step({
  number,
  title,
  done,
  waiting,
  children,
}: {
  number: number;
  title: string;
  done: boolean;
  waiting?: boolean;
  children?: ReactNode;
}) {
  return (
    <li className={cx("flex gap-3", waiting && "text-muted")}>
      <span
        aria-hidden
        className="flex size-6 shrink-0 items-center justify-center rounded-full border border-line text-12 tabular"
      >
        {done ? <CircleCheck size={14} className="text-safe" /> : number}
      </span>
      <div className="min-w-0 flex-1">
        <h3 className="mb-2 leading-6 font-medium">{title}</h3>
        {children}
      </div>
    </li>
  );
}

function Waiting({ token, onAgain, onClose }: { token: NewEnrollmentToken; onAgain: () => void; onClose: () => void }) {
  // Marked as changed by the event stream when any host changes.
  const state = useQuery(enrollmentTokenQuery(token.id)).data;
  const edge = state?.edge_id ?? null;
  const host = useQuery({ ...hostsQuery, enabled: edge !== null }).data?.find((each) => each.id === edge);
  const left = (Date.parse(token.expires_at) - useSeconds()) / 1000;
  if (edge !== null) {
    return (
      <div role="status" data-enrolled className="flex flex-col gap-3 rounded-card border border-safe/50 p-3">
        <p className="flex items-center gap-2 font-medium text-safe">
          <CircleCheck aria-hidden size={16} />
          {host ? `${host.name} is ${host.state === "online" ? "online" : "enrolled"}` : "The host is enrolled"}
        </p>
        <div className="flex gap-2">
          <Link
            to="/hosts/$hostId"
            params={{ hostId: String(edge) }}
            onClick={onClose}
            className="inline-flex h-8 items-center rounded-control border border-line bg-raised px-3 text-13 font-medium"
          >
            Open it
          </Link>
          <Button look="quiet" onClick={onAgain}>
            Add another
          </Button>
        </div>
      </div>
    );
  }
  if (left <= 0 || state?.state === "expired" || state?.state === "revoked") {
    return (
      <div role="status" className="flex flex-col items-start gap-3">
        <p className="flex items-center gap-2 text-mutating">
          <TimerOff aria-hidden size={16} />{" "}
          {state?.state === "revoked" ? "The command was withdrawn." : "The command ran out."}
        </p>
        <Button onClick={onAgain}>Make a new one</Button>
      </div>
    );
  }
  return (
    <p role="status" className="flex items-center gap-2 text-13 text-muted">
      <LoaderCircle aria-hidden size={14} className="animate-spin" /> Waiting. The command works for another{" "}
      <span className="tabular text-text" aria-live="off">
        {formatCountdown(left)}
      </span>
    </p>
  );
}
