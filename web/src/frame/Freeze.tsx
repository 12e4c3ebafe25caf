/** The kill switch: nothing that changes anything starts while it is on. On every page, so that nobody wonders. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Snowflake } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import { freezeQuery } from "../api/queries";
import { Button, IconButton } from "../components/Button";
import { Confirm } from "../components/Confirm";
import { Field, TextInput } from "../components/Field";
import { Time } from "../components/Time";
import { sentence } from "../lib/format";
import { may } from "../lib/may";
import { useFrame } from "./actions";
import { useMe } from "./session";

const REASON_MAX = 500;

export function FreezeButton() {
  const me = useMe();
  const freeze = useQuery(freezeQuery).data;
  const { freeze: ask } = useFrame();
  if (may.freeze(me) !== null || !freeze || freeze.frozen) return null;
  return <IconButton icon={Snowflake} label="Freeze changes" tipSide="left" onClick={ask} />;
}

export function FreezeDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const me = useMe();
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  return (
    <Confirm
      open={open}
      onClose={() => {
        setReason("");
        onClose();
      }}
      title="Freeze changes?"
      action="Freeze"
      reason={may.freeze(me)}
      onConfirm={async () => {
        client.setQueryData(freezeQuery.queryKey, await api.setFreeze(true, reason.trim() || undefined));
      }}
    >
      <p>
        From now on nothing that changes a host or the manager starts, also what somebody has allowed already. The hosts
        are told. Safe calls go on, and what runs already isn't stopped. Only admins unfreeze.
      </p>
      <Field label="Reason" hint="Everybody sees it while changes are frozen.">
        {(field) => (
          <TextInput
            {...field}
            maxLength={REASON_MAX}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
    </Confirm>
  );
}

export function FreezeBanner() {
  const freeze = useQuery(freezeQuery).data;
  if (!freeze?.frozen) return null;
  return (
    <div
      role="status"
      data-freeze-banner
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-mutating/50 bg-raised px-4 py-1.5 text-13 md:px-6"
    >
      <Snowflake aria-hidden size={14} className="shrink-0 text-mutating" />
      <span className="min-w-0 flex-1 break-words">
        <span className="font-medium">Changes are frozen</span>
        {freeze.since && (
          <>
            {" "}
            since <Time at={freeze.since} />
          </>
        )}
        {freeze.by && ` by ${freeze.by.name}`}
        {freeze.reason ? `: ${sentence(freeze.reason)}` : "."}{" "}
        <span className="text-muted max-md:hidden">Safe calls go on.</span>
      </span>
      <UnfreezeButton />
    </div>
  );
}

export function UnfreezeButton() {
  const me = useMe();
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  if (may.unfreeze(me) !== null) return null;
  return (
    <>
      <Button size="small" onClick={() => setAsking(true)}>
        Unfreeze
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title="Unfreeze changes?"
        action="Unfreeze"
        onConfirm={async () => {
          client.setQueryData(freezeQuery.queryKey, await api.setFreeze(false));
        }}
      >
        <p>What is allowed may start again, also what was allowed before and is still valid.</p>
      </Confirm>
    </>
  );
}
