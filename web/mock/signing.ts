/** Procedures, approvers, keys and half-signed approvals of the stand-in manager, one in each state. */
import { createHash } from "node:crypto";
import type { Approval } from "../src/api/approvals";
import type {
  Approvers,
  CoveringStep,
  GivenSignature,
  KeyOffer,
  MyKey,
  NamedProcedure,
  Procedure,
  Signing,
  Statement,
} from "../src/api/signing";
import type { Call, Json } from "../src/api/types";
import { canonical } from "../src/lib/canonical";
import { approvals, settle, tell } from "./approvals";
import { ago, calls, hosts } from "./data";

const ada = { id: 1, name: "admin" };
const OPERATIONS = "4b1d09f2c7a85e31";
const ROOT = "c0ffee1234567890";

function documentOf(procedure: Omit<Procedure, "document">): string {
  const steps = procedure.steps.map((step) =>
    [
      "[[steps]]",
      `name = "${step.name}"`,
      `skill = "${step.skill}"`,
      step.any_host
        ? "any_host = true"
        : `labels = { ${Object.entries(step.labels)
            .map(([key, value]) => `${key} = "${value}"`)
            .join(", ")} }`,
      `maximum_runs = ${step.maximum_runs}`,
      "",
      "[steps.parameters]",
      'type = "object"',
      'required = ["delay_seconds", "reason"]',
      "additionalProperties = false",
      "",
      "[steps.parameters.properties]",
      'delay_seconds = { type = "integer", minimum = 60 }',
      'reason = { type = "string", pattern = "^kernel update " }',
    ].join("\n"),
  );
  return [
    `id = "${procedure.id}"`,
    `version = ${procedure.version}`,
    `title = "${procedure.title}"`,
    `valid_from = ${procedure.valid_from}`,
    `valid_until = ${procedure.valid_until}`,
    "",
    ...steps,
    "",
  ].join("\n");
}

type Draft = Pick<Procedure, "id" | "version" | "title" | "state"> & Partial<Procedure>;

function procedure(draft: Draft): Procedure {
  const whole: Omit<Procedure, "document"> = {
    description: "After a kernel update, once the load balancer has drained the host.",
    valid_from: ago(3_000_000),
    valid_until: ago(-9_000_000),
    steps: [
      {
        name: "reboot",
        skill: "reboot_host",
        parameters: {
          type: "object",
          required: ["delay_seconds", "reason"],
          additionalProperties: false,
          properties: {
            delay_seconds: { type: "integer", minimum: 60 },
            reason: { type: "string", pattern: "^kernel update " },
          },
        },
        any_host: false,
        labels: { role: "web" },
        maximum_runs: 5,
      },
    ],
    signer: OPERATIONS,
    imported_at: ago(2_000_000),
    imported_by: ada,
    ...draft,
  };
  return { ...whole, document: draft.document ?? documentOf(whole) };
}

export const procedures: Procedure[] = [
  procedure({ id: "reboot-web", version: 3, title: "Reboot a web server", state: "active" }),
  procedure({
    id: "reboot-any",
    version: 1,
    title: "Reboot a host after a hardware change, whatever it is used for",
    state: "active",
    steps: [
      { name: "reboot", skill: "reboot_host", parameters: {}, any_host: true, labels: {}, maximum_runs: 1 },
      {
        name: "remove-old-images",
        skill: "bash",
        parameters: { type: "object", properties: { command: { const: "docker image prune -af" } } },
        any_host: true,
        labels: {},
        maximum_runs: 20,
      },
    ],
  }),
  procedure({ id: "drain-db", version: 1, title: "Drain a database", state: "not_yet", valid_from: ago(-500_000) }),
  procedure({ id: "reboot-web", version: 2, title: "Reboot a web server", state: "superseded" }),
  procedure({ id: "wipe-cache", version: 4, title: "Wipe a cache", state: "expired", valid_until: ago(90_000) }),
  procedure({
    id: "remove-logs",
    version: 1,
    title: "Remove old logs",
    state: "revoked",
    revoked_at: ago(400_000),
    revoked_by: ada,
  }),
];

export const keyOffers: (KeyOffer & { credential?: string })[] = [
  {
    id: "0197b000-0000-7001-8a00-000000000001",
    person: "admin",
    kind: "ed25519",
    public: "MCowBQYDK2VwAyEAASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8=",
    key_id: "9a01b2c3d4e5f607",
    credential_id: null,
    label: "key file on the work laptop",
    offered_at: ago(900_000),
    toml: tomlOf("admin", "ed25519", "MCowBQYDK2VwAyEAASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8=", "key file"),
    listed: true,
  },
  {
    id: "0197b000-0000-7001-8a00-000000000002",
    person: "kim",
    kind: "webauthn",
    public: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE",
    key_id: "77aa5533bb99cc00",
    credential_id: "q83vEjRWeJo",
    label: "phone",
    offered_at: ago(3_000),
    toml: tomlOf("kim", "webauthn", "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE", "phone"),
    listed: false,
  },
];

export function tomlOf(person: string, kind: string, key: string, label: string): string {
  return `[[people]]\nperson = "${person}"\n[[people.keys]]\nkind = "${kind}"\npublic = "${key}"\nlabel = "${label}"\n`;
}

export const approvers: Approvers = {
  configured: true,
  root_fingerprint: ROOT,
  list: {
    version: 7,
    expires: ago(-12_000_000),
    people: [
      { person: "admin", keys: [{ id: "9a01b2c3d4e5f607", kind: "ed25519", label: "key file on the work laptop" }] },
      {
        person: "ben",
        keys: [
          { id: "1122334455667788", kind: "webauthn", label: "phone" },
          { id: "8877665544332211", kind: "webauthn", label: "security key in the safe" },
        ],
      },
    ],
    imported_at: ago(700_000),
    imported_by: ada,
  },
  origin: null,
  rp_id: null,
};

export function covering(body: { tool: string; edge_id?: number; args?: Json }): CoveringStep[] {
  const host = hosts.find((each) => each.id === body.edge_id);
  const args = (body.args ?? {}) as Record<string, Json>;
  return procedures
    .filter((each) => each.state === "active")
    .flatMap(({ id, version, title, steps }) =>
      steps
        .filter((step) => step.skill === body.tool)
        .filter((step) => step.any_host || Object.entries(step.labels).every(([key, as]) => host?.labels[key] === as))
        .filter((step) =>
          step.skill === "bash"
            ? /prune/.test(String(args.command))
            : (step.any_host ? /hardware/ : /^kernel update /).test(String(args.reason)),
        )
        .map((step) => ({ id, version, step: step.name, title })),
    );
}

function myKeys(): MyKey[] {
  return keyOffers
    .filter((offer) => offer.person === "admin" && offer.listed)
    .map(({ key_id, kind, credential_id, label }) => ({ key: key_id, kind, credential_id, label }));
}

export function namedProcedure(id: string, step: string): NamedProcedure | undefined {
  const found = procedures.find((each) => each.id === id && each.state === "active");
  const named = found?.steps.find((each) => each.name === step);
  if (!found || !named) return undefined;
  const { version, title, valid_until, signer } = found;
  return { id, step, version, title, valid_until, signer, runs_used: 1, maximum_runs: named.maximum_runs };
}

/** What an approval says of its signatures, as `admin` sees it. */
export function signingOf(needed: number, sop: NamedProcedure | null, more: Partial<Signing> = {}): Signing {
  const signatures = more.signatures ?? [];
  return {
    needed,
    independent_needed: 0,
    sop,
    statement_open: signatures.length > 0,
    not_after: signatures.length > 0 ? ago(-1_500) : null,
    signatures,
    host_name_required: needed === 2 && signatures.length === 1,
    my_keys: myKeys(),
    may_sign: true,
    may_not_because: null,
    ...more,
  };
}

/** Whose signatures of a call are void, because the host's agent restarted. */
export const reopenedCalls = new Map<string, string[]>();

/** Keys that were enrolled since sign as well. */
export function refreshKeys(): void {
  for (const each of approvals) if (each.signing && each.state === "pending") each.signing.my_keys = myKeys();
}

export function statementOf(approval: Approval): Statement {
  const { signing, args } = approval;
  const not_after = signing?.not_after ?? new Date(Date.now() + 1_500_000).toISOString();
  if (signing) Object.assign(signing, { statement_open: true, not_after });
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  const statement = canonical({
    domain: "steadyhand/approval/v1",
    call_id: approval.call_id,
    edge_id: approval.edge_id ?? 0,
    tool: approval.tool,
    definition_hash: approval.definition_hash,
    args_hash: digest(canonical(args)),
    sop: signing?.sop ? { id: signing.sop.id, version: signing.sop.version, step: signing.sop.step } : null,
    requester: approval.requested_by.name,
    nonce: "0f".repeat(32),
    not_after,
  });
  return { statement, digest: digest(statement), args, not_after, signatures_needed: signing?.needed ?? 1 };
}

export function sign(approval: Approval, given: GivenSignature): void {
  const { signing } = approval;
  if (!signing) return;
  signing.signatures.push(given);
  if (given.person === "admin") {
    signing.may_sign = false;
    signing.may_not_because = "you have signed already; another approver is needed";
  } else signing.host_name_required = signing.signatures.length === signing.needed - 1 && signing.sop != null;
  if (signing.signatures.length < signing.needed) {
    tell(approval);
    return;
  }
  const call: Call | undefined = calls.find((each) => each.id === approval.call_id);
  settle(approval, {
    state: "approved",
    decision: "allow_once",
    decided_by: { id: 1, name: given.person },
    call_state: "running",
    valid_until: new Date(Date.now() + 600_000).toISOString(),
  });
  if (call) call.state = "succeeded";
  approval.call_state = "succeeded";
  tell(approval);
}
