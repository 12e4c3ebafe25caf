/** Approvals that need signatures, one in each state. */
import type { Approval } from "../src/api/approvals";
import type { GivenSignature, Signing } from "../src/api/signing";
import type { Call, Json } from "../src/api/types";
import { approvals, askFor, settle } from "./approvals";
import { ago, calls, makeCall } from "./data";
import { namedProcedure, reopenedCalls, signingOf } from "./signing";

const kim = { id: 2, name: "kim" };
const ada = { id: 1, name: "admin" };

const by = (person: string, kind: GivenSignature["kind"], seconds: number): GivenSignature => ({
  person,
  kind,
  key: person === "ben" ? "1122334455667788" : "9a01b2c3d4e5f607",
  at: ago(seconds),
});

const WHY = "calls of class dangerous need a signed procedure and the signatures of two approvers";
const reboot = { reason: "kernel update 6.1.0-27", delay_seconds: 120 };

interface Seed {
  tool?: string;
  edge?: number;
  args?: Json;
  needed?: number;
  signing?: Partial<Signing>;
  more?: Partial<Approval>;
  /** Whose signatures are void since the host's agent restarted. */
  voided?: string[];
  /** How it ended; it waits if unset. */
  end?: Partial<Approval>;
}

const seeds: Seed[] = [
  { more: { by_model: true } },
  { signing: { signatures: [by("ben", "webauthn", 200)] } },
  {
    signing: {
      signatures: [by("admin", "ed25519", 60)],
      host_name_required: false,
      may_sign: false,
      may_not_because: "you have signed already; another approver is needed",
    },
  },
  {
    more: {
      requested_by: ada,
      may_decide: false,
      may_not_because: "it is your own call, so two other approvers decide",
    },
    signing: { may_sign: false, may_not_because: "it is your own call, so two other approvers sign it" },
  },
  { voided: ["ben"] },
  {
    tool: "write_file",
    edge: 2,
    args: { path: "/etc/pgbouncer/pgbouncer.ini", content: "[databases]\nshop = host=10.0.4.21\n", mode: "0640" },
    needed: 1,
    signing: { independent_needed: 1 },
    more: {
      class: "mutating",
      why: "this host takes changes of files only with a signature of an approver (approval_proof = mixed)",
    },
  },
  {
    signing: { signatures: [by("ben", "webauthn", 7_000), by("admin", "ed25519", 6_900)] },
    end: {
      state: "approved",
      decision: "allow_once",
      decided_by: ada,
      call_state: "succeeded",
      decided_at: ago(6_900),
    },
  },
  {
    signing: { signatures: [by("ben", "webauthn", 80_000)] },
    end: { state: "expired", call_state: "expired", decided_at: ago(79_000) },
  },
  {
    end: {
      state: "denied",
      decision: "deny",
      decided_by: kim,
      note: "The other web server is still out of the pool.",
      call_state: "denied",
      decided_at: ago(170_000),
    },
  },
];

export function seedSigning(): void {
  for (const { tool = "reboot_host", edge = 1, args = reboot, needed = 2, signing, more, voided, end } of seeds) {
    const call: Call = makeCall({ tool, edge_id: edge, args, state: "running", origin: "api" });
    calls.unshift(call);
    if (voided) reopenedCalls.set(call.id, voided);
    const sop = needed === 2 ? (namedProcedure("reboot-web", "reboot") ?? null) : null;
    const approval = askFor(
      call,
      {
        class: "dangerous",
        why: WHY,
        requested_by: kim,
        by_model: false,
        reasons: [],
        may_always: false,
        signing: signingOf(needed, sop, signing),
        ...more,
      },
      1_700,
    );
    call.class = approval.class;
    if (!end) continue;
    approval.created_at = end.decided_at ?? approval.created_at;
    settle(approval, end);
  }
  approvals.sort((a, b) => b.created_at.localeCompare(a.created_at));
}
