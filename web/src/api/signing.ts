/** Procedures, the list of approvers, keys and signatures: the words of the API, and its calls. */
import type { Approval } from "./approvals";
import { body, client } from "./client";
import type { Json, RunCall } from "./types";

export type SignatureKind = "ed25519" | "webauthn";

/** The step of a procedure that a call names. */
export interface StepName {
  id: string;
  step: string;
}

export interface GivenSignature {
  person: string;
  key: string;
  kind: SignatureKind;
  at: string;
}

export interface MyKey {
  key: string;
  kind: SignatureKind;
  credential_id?: string | null;
  label: string;
}

export interface NamedProcedure extends StepName {
  version: number;
  title: string;
  valid_until: string;
  signer: string;
  runs_used: number;
  maximum_runs: number;
}

/** How the signatures of one approval stand. */
export interface Signing {
  needed: number;
  independent_needed: number;
  sop?: NamedProcedure | null;
  statement_open: boolean;
  not_after?: string | null;
  signatures: GivenSignature[];
  host_name_required: boolean;
  my_keys: MyKey[];
  may_sign: boolean;
  may_not_because?: string | null;
  reopened_because?: string | null;
}

export interface Statement {
  statement: string;
  digest: string;
  args: Json;
  not_after: string;
  signatures_needed: number;
}

export interface Signature {
  person: string;
  key: string;
  signature: string;
  client_data?: string;
  authenticator_data?: string;
}

export interface ProcedureStep {
  name: string;
  skill: string;
  parameters: Json;
  any_host: boolean;
  labels: Record<string, string>;
  maximum_runs: number;
}

export type ProcedureState = "active" | "not_yet" | "expired" | "revoked" | "superseded";

export interface Procedure {
  id: string;
  version: number;
  title: string;
  description: string;
  valid_from: string;
  valid_until: string;
  steps: ProcedureStep[];
  signer: string;
  imported_at: string;
  imported_by: { id: number; name: string };
  state: ProcedureState;
  revoked_at?: string | null;
  revoked_by?: { id: number; name: string } | null;
  document: string;
}

export interface ProcedurePreview extends Procedure {
  diff?: string | null;
  warnings: string[];
}

export interface SignedDocument {
  document: string;
  signature: string;
}

export interface Approvers {
  configured: boolean;
  root_fingerprint?: string | null;
  list?: {
    version: number;
    expires: string;
    people: { person: string; keys: { id: string; kind: SignatureKind; label: string }[] }[];
    imported_at: string;
    imported_by: { id: number; name: string };
  } | null;
  origin?: string | null;
  rp_id?: string | null;
}

export interface KeyOffer {
  id: string;
  person: string;
  kind: SignatureKind;
  public: string;
  key_id: string;
  credential_id?: string | null;
  label: string;
  offered_at: string;
  toml: string;
  listed?: boolean;
}

export interface KeyInput {
  kind: SignatureKind;
  public: string;
  credential_id?: string;
  label: string;
}

export interface CoveringStep extends StepName {
  version: number;
  title: string;
}

/** What a host says of signatures: only its own configuration decides. */
export interface HostSigning {
  approval_proof: string;
  dangerous: boolean;
  sop_keys: string[];
  approver_root?: string | null;
  list_version: number;
  origin?: string | null;
  rp_id?: string | null;
  min_independent_signatures: number;
  labels: Record<string, string>;
}

// biome-ignore lint/suspicious/noExplicitAny: until the API's document has these routes
const untyped = client as any;
const get = <T>(path: string, signal?: AbortSignal): Promise<T> => body(untyped.GET(`/api/v1${path}`, { signal }));
const post = <T>(path: string, sent: object): Promise<T> => body(untyped.POST(`/api/v1${path}`, { body: sent }));
const remove = (path: string): Promise<void> => body(untyped.DELETE(`/api/v1${path}`, {}));

export const signingApi = {
  openStatement: (approval: string) => post<Statement>(`/approvals/${approval}/statement`, {}),
  sign: (approval: string, sent: { statement: string; signature: Signature; host_name?: string }) =>
    post<Approval>(`/approvals/${approval}/signatures`, sent),

  procedures: async (signal?: AbortSignal) => (await get<{ items: Procedure[] }>("/sops", signal)).items,
  previewProcedure: (sop: SignedDocument) => post<ProcedurePreview>("/sops", { ...sop, dry_run: true }),
  importProcedure: (sop: SignedDocument) => post<ProcedurePreview>("/sops", sop),
  revokeProcedure: (id: string, version: number) => remove(`/sops/${id}/${version}`),
  covering: async ({ tool, edge_id, args }: RunCall) =>
    (await post<{ items: CoveringStep[] }>("/sops/covering", { tool, edge_id, args })).items,

  approvers: (signal?: AbortSignal) => get<Approvers>("/approvers", signal),
  importApprovers: (list: SignedDocument) => post<Approvers>("/approvers", list),
  keyOffers: async (signal?: AbortSignal) => (await get<{ items: KeyOffer[] }>("/approvers/offers", signal)).items,

  myKeys: async (signal?: AbortSignal) => (await get<{ items: KeyOffer[] }>("/account/approver-keys", signal)).items,
  offerKey: (key: KeyInput) => post<KeyOffer>("/account/approver-keys", key),
  withdrawKey: (id: string) => remove(`/account/approver-keys/${id}`),
};
