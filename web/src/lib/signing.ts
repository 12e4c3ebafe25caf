/** What cards and pages say of procedures, signatures and what hosts pin. Pure; the manager and the hosts decide. */
import type { Approval } from "../api/approvals";
import type {
  Approvers,
  CoveringStep,
  GivenSignature,
  HostSigning,
  MyKey,
  Procedure,
  ProcedureStep,
  SignatureKind,
  Signing,
  StepName,
} from "../api/signing";
import type { AuditRow, Capability } from "../api/types";
import { shellQuote } from "./command-lines";
import { sentence } from "./format";
import { formatLabels } from "./labels";

export const KIND_WORDS: Record<SignatureKind, string> = { ed25519: "key file", webauthn: "passkey" };

export interface Slot {
  by: GivenSignature | null;
  /** The host takes only a key file's here. */
  keyFileOnly: boolean;
}

/** How many of those that are still needed must come from a key file. */
function keyFilesLeft({ independent_needed, signatures }: Signing): number {
  return Math.max(0, independent_needed - signatures.filter((each) => each.kind === "ed25519").length);
}

export function slotsOf(signing: Signing): Slot[] {
  const { needed, signatures } = signing;
  const open = Math.max(0, needed - signatures.length);
  return [
    ...signatures.map((by) => ({ by, keyFileOnly: false })),
    // The last of the open ones, so that whoever has a passkey sees that the first takes it.
    ...Array.from({ length: open }, (_, index) => ({
      by: null,
      keyFileOnly: index >= open - keyFilesLeft(signing),
    })),
  ];
}

/** `ana and ben` */
export function peopleOf(signatures: readonly GivenSignature[]): string {
  return listed(signatures.map((each) => each.person));
}

function listed(names: readonly string[]): string {
  const last = names.at(-1);
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${last}` : (last ?? "nobody");
}

/**
 * Why signatures are asked for again, from the call's rows of the audit; `null` unless somebody has to sign once more.
 */
export function askedAgain(rows: readonly Pick<AuditRow, "kind" | "payload">[], signing: Signing): string | null {
  const row = rows.findLast((each) => each.kind === "approval.reopened");
  const payload = row?.payload ?? null;
  if (payload === null || typeof payload !== "object" || Array.isArray(payload)) return null;
  const { why, void_signatures_of } = payload;
  const before = Array.isArray(void_signatures_of) ? void_signatures_of.map(String) : [];
  const again = before.filter((person) => !signing.signatures.some((each) => each.person === person));
  if (again.length === 0) return null;
  return `${sentence(typeof why === "string" ? why : "The signatures given before are void")} It had been signed by ${listed(before)}.`;
}

/** `1 of 2 signatures` */
export function signedCount({ needed, signatures }: Pick<Signing, "needed" | "signatures">): string {
  return `${signatures.length} of ${needed} ${needed === 1 ? "signature" : "signatures"}`;
}

/** The passkeys that may sign now. */
export function passkeysOf(signing: Signing): MyKey[] {
  return signing.my_keys.filter((key) => key.kind === "webauthn" && key.credential_id);
}

/** Why no passkey of theirs can sign this one, though passkeys work here. `null` when one can. */
export function whyNoPasskeyNow(signing: Signing): string | null {
  if (signing.needed - signing.signatures.length <= keyFilesLeft(signing)) {
    return "This host wants a signature from a key file here, made outside of any browser.";
  }
  if (passkeysOf(signing).length > 0) return null;
  const none = signing.my_keys.length > 0 ? "No passkey of yours" : "No key of yours";
  return `${none} counts for this host: it isn't in the list of approvers, or the host takes passkeys of another console.`;
}

interface Commands {
  /** Prints what is signed, and the digest. */
  show: string;
  sign: string;
}

export function keyFileCommands(approval: Pick<Approval, "id" | "edge_name" | "signing">, person: string): Commands {
  const words = ["steadyhand", "approve", approval.id];
  const host = approval.signing?.host_name_required && approval.edge_name;
  return {
    show: [...words, "--show"].join(" "),
    sign: [...words, "--key", shellQuote(`${person}.key.pem`), ...(host ? ["--host-name", shellQuote(host)] : [])].join(
      " ",
    ),
  };
}

/** Whether a form offers procedures: all calls of the skill may be dangerous, or their arguments decide. */
export function mayNeedProcedure(capability: Pick<Capability, "class" | "scope" | "classed_by">): boolean {
  return capability.scope === "host" && (capability.class === "dangerous" || Boolean(capability.classed_by));
}

/**
 * The step that a call goes out with. With one way to run a dangerous call there is nothing to choose; a call that may
 * well not be dangerous names none unless somebody says so.
 */
export function stepOf(
  chosen: StepName | null,
  covering: readonly CoveringStep[],
  dangerous: boolean,
): StepName | undefined {
  const fits = covering.find((each) => chosen && each.id === chosen.id && each.step === chosen.step);
  const found = fits ?? (dangerous && covering.length === 1 ? covering[0] : undefined);
  return found && { id: found.id, step: found.step };
}

export const stepText = ({ id, step }: StepName): string => `${id}/${step}`;

export const PROCEDURE_STATES: Record<Procedure["state"], string> = {
  active: "in force",
  not_yet: "not yet in force",
  expired: "expired",
  revoked: "revoked",
  superseded: "superseded",
  untrusted: "not trusted",
};

/** What becomes of the other versions when one is revoked: those before it go with it, a newer one goes on counting. */
export function whenRevoked(
  procedure: Pick<Procedure, "id" | "version">,
  all: readonly Pick<Procedure, "id" | "version" | "state">[],
): string | null {
  const others = all.filter((each) => each.id === procedure.id && each.state !== "revoked");
  const older = others.some((each) => each.version < procedure.version);
  const newest = Math.max(...others.map((each) => each.version));
  const said = [
    older && "The versions before it are revoked with it; to take one up again, sign its text with a higher version.",
    newest > procedure.version && `Version ${newest} goes on counting.`,
  ].filter((each) => each !== false);
  return said.length > 0 ? said.join(" ") : null;
}

export function targetsOf(step: Pick<ProcedureStep, "any_host" | "labels">): string {
  return step.any_host ? "every host" : `hosts with ${formatLabels(step.labels)}`;
}

export const PROOF_WORDS: Record<HostSigning["approval_proof"], string> = {
  manager: "the manager's word",
  mixed: "signatures for files and opaque commands, else the manager's word",
  signed: "signatures for every change",
};

/** Why nothing dangerous runs on a host; empty when it can. */
export function whyDangerousOff(signing: HostSigning): string[] {
  if (signing.dangerous) return [];
  const reasons = [
    signing.sop_keys.length === 0 && "it pins no key of procedures (security.sop.trusted_keys)",
    !signing.approver_root && "it pins no root key of the list of approvers (security.approvers.root_key)",
  ].filter((each) => each !== false);
  return reasons.length > 0 ? reasons : ["its own configuration says so"];
}

/** Where a host and this manager don't go together: signatures collected here would be refused there. */
export function mismatches(signing: HostSigning, approvers: Approvers | undefined): string[] {
  if (!approvers || !signing.approver_root) return [];
  const { root_fingerprint, list, origin, rp_id } = approvers;
  const found: string[] = [];
  if (root_fingerprint && root_fingerprint !== signing.approver_root) {
    found.push(`It pins the root key ${signing.approver_root}, this manager ${root_fingerprint}.`);
  }
  if (list && signing.list_version > list.version) {
    found.push(
      `It has seen version ${signing.list_version} of the list of approvers; this manager has version ${list.version}.`,
    );
  }
  if (origin && signing.origin && (signing.origin !== origin || signing.rp_id !== rp_id)) {
    found.push(`It takes passkeys of ${signing.origin}, and this console is ${origin}.`);
  }
  if (origin && !signing.origin) found.push("It takes no passkeys, only key files.");
  return found;
}
