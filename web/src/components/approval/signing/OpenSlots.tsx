/** The places for signatures of a call that waits, with why they are asked for again. */
import { useQuery } from "@tanstack/react-query";
import type { Approval } from "../../../api/approvals";
import { callQuery } from "../../../api/queries";
import type { Signing } from "../../../api/signing";
import { askedAgain } from "../../../lib/signing";
import { Slots } from "./Slots";

export function OpenSlots({ approval, signing }: { approval: Approval; signing: Signing }) {
  // The approval says how it stands; what was before stands in the call's rows of the audit.
  const call = useQuery(callQuery(approval.call_id)).data;
  return <Slots signing={signing} waiting again={call ? askedAgain(call.audit, signing) : null} />;
}
