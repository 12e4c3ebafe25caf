/** Procedures, the list of approvers, keys and signatures: the words of the API, and its calls. */
import type { Approval } from "./approvals";
import { body, client, knownAs } from "./client";
import type { components } from "./generated";
import type { Json, RunCall } from "./types";

type Schemas = components["schemas"];

export type SignatureKind = Schemas["SignatureKind"];
/** The step of a procedure that a call names. */
export type StepName = Schemas["SopChoice"];
export type GivenSignature = Schemas["SigningSignature"];
export type MyKey = Schemas["SigningKey"];
export type NamedProcedure = Schemas["SigningSop"];
/** How the signatures of one approval stand. */
export type Signing = Schemas["ApprovalSigning"];
export type Statement = Omit<Schemas["StatementView"], "args"> & { args: Json };
export type Signature = Schemas["Signature"];
export type ProcedureStep = Omit<Schemas["SopStep"], "parameters"> & { parameters: Json };
export type ProcedureState = Schemas["SopState"];
export type Procedure = Omit<Schemas["Sop"], "steps"> & { steps: ProcedureStep[] };
export type ProcedurePreview = Procedure & Pick<Schemas["ImportedSop"], "diff" | "warnings">;
export type SignedDocument = Schemas["ImportApproversRequest"];
export type Approvers = Schemas["ApproversView"];
export type KeyOffer = Schemas["ApproverKeyOffer"];
export type KeyInput = Schemas["OfferKeyRequest"];
export type CoveringStep = Schemas["CoveringStep"];
/** What a host says of signatures: only its own configuration decides. */
export type HostSigning = Schemas["HostSigning"];

const procedure = (sop: SignedDocument, dry_run: boolean) =>
  knownAs<ProcedurePreview>(client.POST("/api/v1/sops", { body: { ...sop, dry_run } }));

export const signingApi = {
  openStatement: (id: string) =>
    knownAs<Statement>(client.POST("/api/v1/approvals/{id}/statement", { params: { path: { id } } })),
  sign: (id: string, sent: Schemas["SignatureRequest"]) =>
    knownAs<Approval>(client.POST("/api/v1/approvals/{id}/signatures", { params: { path: { id } }, body: sent })),

  procedures: async (signal?: AbortSignal) =>
    (await knownAs<{ items: Procedure[] }>(client.GET("/api/v1/sops", { signal }))).items,
  previewProcedure: (sop: SignedDocument) => procedure(sop, true),
  importProcedure: (sop: SignedDocument) => procedure(sop, false),
  revokeProcedure: (id: string, version: number) =>
    body(client.DELETE("/api/v1/sops/{id}/{version}", { params: { path: { id, version } } })),
  covering: async ({ tool, edge_id, args }: RunCall) =>
    (
      await body(
        client.POST("/api/v1/sops/covering", {
          body: { tool, edge_id: edge_id ?? 0, args: args as Record<string, never> },
        }),
      )
    ).items,

  approvers: (signal?: AbortSignal) => body(client.GET("/api/v1/approvers", { signal })),
  importApprovers: (list: SignedDocument) => body(client.POST("/api/v1/approvers", { body: list })),
  keyOffers: async (signal?: AbortSignal) => (await body(client.GET("/api/v1/approvers/offers", { signal }))).items,

  myKeys: async (signal?: AbortSignal) => (await body(client.GET("/api/v1/account/approver-keys", { signal }))).items,
  offerKey: (key: KeyInput) => body(client.POST("/api/v1/account/approver-keys", { body: key })),
  withdrawKey: (id: string) => body(client.DELETE("/api/v1/account/approver-keys/{id}", { params: { path: { id } } })),
};
