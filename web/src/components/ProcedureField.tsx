/** Which signed procedure a call goes by: those that cover exactly this one on this host. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { messageOf } from "../api/client";
import type { CoveringStep, StepName } from "../api/signing";
import { coveringQuery } from "../api/signing-queries";
import type { Capability, RunCall } from "../api/types";
import { mayNeedProcedure, stepOf, stepText } from "../lib/signing";
import { Field, Select } from "./Field";

/** After the last key: a question for each letter would be many. */
const PAUSE_MS = 300;

interface Found {
  /** What the call goes out with. */
  step: StepName | undefined;
  /** Several would do and none is chosen. */
  undecided: boolean;
}

interface ProcedureState extends Found {
  /** Whether this is about the call as it stands. */
  known: boolean;
  /** The same, waited for. */
  find: (call: RunCall) => Promise<Found>;
  field: FieldProps | null;
}

interface FieldProps {
  dangerous: boolean;
  /** The form is filled in, so there is a call to ask about. */
  asked: boolean;
  covering: CoveringStep[] | undefined;
  error: unknown;
  step: StepName | undefined;
  onChoose: (step: StepName | null) => void;
}

/** `call`: the whole one, `null` while something is missing. */
export function useProcedure(capability: Capability, call: RunCall | null): ProcedureState {
  const needed = mayNeedProcedure(capability);
  const dangerous = capability.class === "dangerous";
  const [chosen, setChosen] = useState<StepName | null>(null);
  const text = needed && call ? JSON.stringify(call) : null;
  const [asked, setAsked] = useState<string | null>(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const query = useQuery({
    ...coveringQuery(asked === null ? { tool: capability.key, args: {} } : JSON.parse(asked)),
    enabled: asked !== null,
  });
  const client = useQueryClient();
  const among = (covering: readonly CoveringStep[]): Found => {
    const step = stepOf(chosen, covering, dangerous);
    return { step, undecided: dangerous && !step && covering.length > 1 };
  };
  // What covered the call before its last change says nothing of it now.
  const current = asked === text && !query.isPlaceholderData ? query.data : undefined;
  return {
    ...among(current ?? []),
    known: !needed || current !== undefined || query.isError || (!dangerous && chosen === null),
    find: async (whole) => among(await client.fetchQuery(coveringQuery(whole)).catch(() => [])),
    field: needed
      ? {
          dangerous,
          asked: text !== null,
          covering: text === null ? undefined : query.data,
          error: query.error,
          step: among(current ?? query.data ?? []).step,
          onChoose: setChosen,
        }
      : null,
  };
}

export function ProcedureField({
  dangerous,
  asked,
  covering,
  error,
  step,
  onChoose,
  problem,
}: FieldProps & { problem: string | null }) {
  // Where most calls need none, the field shows only if there is something to choose.
  if (!dangerous && !covering?.length) return null;
  const none = asked && covering?.length === 0;
  return (
    <Field
      label="Procedure"
      error={error ? messageOf(error) : problem}
      hint={
        none ? (
          <>
            No procedure covers exactly this call, so it would be refused. The ones in force are under{" "}
            <Link to="/settings/security" className="underline underline-offset-2 hover:text-text">
              Security
            </Link>
            .
          </>
        ) : asked ? (
          dangerous ? (
            "A dangerous call runs by a signed procedure, after two approvers have signed it."
          ) : (
            "Only where the call is dangerous."
          )
        ) : (
          "Those that cover the call show once it is filled in."
        )
      }
    >
      {({ required: _required, ...field }) => (
        <Select
          {...field}
          data-procedure-select
          disabled={!covering?.length}
          value={step ? stepText(step) : ""}
          onChange={(event) => onChoose(covering?.find((each) => stepText(each) === event.target.value) ?? null)}
        >
          {(!step || !dangerous || (covering?.length ?? 0) > 1) && (
            <option value="">{dangerous ? "Choose a procedure…" : "None"}</option>
          )}
          {covering?.map((each) => (
            <option key={stepText(each)} value={stepText(each)}>
              {each.title} · {stepText(each)} · version {each.version}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}
