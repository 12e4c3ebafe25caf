/** Procedures, the list of approvers, keys and signatures. */
import type { KeyOffer } from "../../src/api/signing";
import { approvals, tell } from "../approvals";
import { newId } from "../data";
import { Answer, Failure, found, page, type Route, remove } from "../http";
import {
  approvers,
  covering,
  keyOffers,
  procedures,
  refreshKeys,
  reopenedCalls,
  sign,
  signingOf,
  statementOf,
  tomlOf,
} from "../signing";

const approvalOf = (id: string | undefined) =>
  found(
    approvals.find((each) => each.id === id),
    "approval",
  );

function preview(text: string) {
  const id = /^id\s*=\s*"(.*)"/m.exec(text)?.[1];
  const version = Number(/^version\s*=\s*(\d+)/m.exec(text)?.[1]);
  if (!id || !version) throw new Failure(422, "Not a procedure", "the procedure: id: expected a-z, 0-9 and `-`");
  const before = procedures.find((each) => each.id === id && each.state === "active");
  if (before && before.version >= version) {
    throw new Failure(409, "Conflict", `version ${before.version} of ${id} is here; a new one needs a higher version`);
  }
  const old = before?.document.split("\n") ?? [];
  const now = text.split("\n");
  const diff = before && [
    `--- ${id} version ${before.version}`,
    `+++ ${id} version ${version}`,
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.map((line) => (old.includes(line) ? ` ${line}` : `+${line}`)),
  ];
  return {
    ...(before ?? (procedures[0] as (typeof procedures)[number])),
    id,
    version,
    title: /^title\s*=\s*"(.*)"/m.exec(text)?.[1] ?? id,
    document: text,
    state: "active" as const,
    imported_at: new Date().toISOString(),
    diff: diff ? diff.join("\n") : null,
    warnings: /any_host\s*=\s*true/.test(text) ? ["step `reboot` is for every host"] : [],
  };
}

export const signingRoutes: Route[] = [
  ["GET", /^\/sops$/, () => page(procedures)],
  [
    "POST",
    /^\/sops$/,
    ({ body }) => {
      const sop = preview(Buffer.from(body.document, "base64").toString("utf8"));
      if (body.dry_run) return sop;
      for (const each of procedures) if (each.id === sop.id && each.state === "active") each.state = "superseded";
      procedures.unshift(sop);
      return new Answer(201, sop);
    },
  ],
  ["POST", /^\/sops\/covering$/, ({ body }) => page(covering(body))],
  [
    "DELETE",
    /^\/sops\/([^/]+)\/(\d+)$/,
    ({ params: [id, version] }) => {
      const sop = procedures.find((each) => each.id === id && each.version === Number(version));
      Object.assign(found(sop, "procedure"), {
        state: "revoked",
        revoked_at: new Date().toISOString(),
        revoked_by: { id: 1, name: "admin" },
      });
    },
  ],
  ["GET", /^\/approvers$/, ({ origin }) => ({ ...approvers, origin, rp_id: "localhost" })],
  [
    "POST",
    /^\/approvers$/,
    ({ body, origin }) => {
      const text = Buffer.from(body.document, "base64").toString("utf8");
      const version = Number(/^version\s*=\s*(\d+)/m.exec(text)?.[1]);
      const { list } = approvers;
      if (!list || version <= list.version) {
        throw new Failure(409, "Conflict", `version ${list?.version} is here; a list needs a higher version`);
      }
      Object.assign(list, { version, imported_at: new Date().toISOString() });
      return { ...approvers, origin, rp_id: "localhost" };
    },
  ],
  ["GET", /^\/approvers\/offers$/, () => page(keyOffers)],
  ["GET", /^\/account\/approver-keys$/, () => page(keyOffers.filter((each) => each.person === "admin"))],
  [
    "POST",
    /^\/account\/approver-keys$/,
    ({ body }) => {
      const id = newId();
      const offer: KeyOffer = {
        id,
        person: "admin",
        kind: body.kind,
        public: body.public,
        key_id: id.replaceAll("-", "").slice(0, 16),
        credential_id: body.credential_id ?? null,
        label: body.label,
        offered_at: new Date().toISOString(),
        toml: tomlOf("admin", body.kind, body.public, body.label),
        // Nobody signs lists here: what is offered is listed.
        listed: body.label !== "unlisted",
      };
      keyOffers.push(offer);
      refreshKeys();
      return new Answer(201, offer);
    },
  ],
  [
    "DELETE",
    /^\/account\/approver-keys\/([^/]+)$/,
    ({ params }) => {
      remove(keyOffers, (each) => each.id === params[0]);
      refreshKeys();
    },
  ],
  ["POST", /^\/approvals\/([^/]+)\/statement$/, ({ params }) => statementOf(approvalOf(params[0]))],
  [
    "POST",
    /^\/approvals\/([^/]+)\/signatures$/,
    ({ params, body }) => {
      const approval = approvalOf(params[0]);
      const { signing } = approval;
      if (!signing || approval.state !== "pending") {
        throw new Failure(409, "Conflict", "this was decided already", { approval });
      }
      if (signing.host_name_required && body.host_name !== approval.edge_name) {
        throw new Failure(422, "The host's name is needed", `host_name: expected \`${approval.edge_name}\``);
      }
      const { person, key } = body.signature;
      const kind = keyOffers.find((each) => each.key_id === key)?.kind ?? "ed25519";
      sign(approval, { person, key, kind, at: new Date().toISOString() });
      return approval;
    },
  ],
  // Not of the API: the host's agent restarts, and what was signed is void.
  [
    "POST",
    /^\/mock\/restart\/([^/]+)$/,
    ({ params }) => {
      const approval = approvalOf(params[0]);
      reopenedCalls.set(
        approval.call_id,
        (approval.signing?.signatures ?? []).map((each) => each.person),
      );
      approval.signing = signingOf(approval.signing?.needed ?? 2, approval.signing?.sop ?? null);
      tell(approval);
      return approval;
    },
  ],
];
