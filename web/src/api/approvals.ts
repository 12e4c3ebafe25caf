/** Approvals, standing grants, the freeze and the policy's answer, by the names that the console has for them. */
import type { components } from "./generated";
import type { Signing } from "./signing";
import type { Json } from "./types";

type Schemas = components["schemas"];

export type Person = Schemas["Person"];
export type ApprovalState = Schemas["ApprovalState"];
export type Decision = Schemas["ApprovalDecision"];
export type ClassReason = Schemas["ClassReason"];
export type Approval = Omit<Schemas["Approval"], "args" | "signing"> & { args: Json; signing?: Signing | null };
export type GrantWish = Schemas["GrantRequest"];
export type DecisionInput = Schemas["DecisionRequest"];
export type Grant = Omit<Schemas["Grant"], "args"> & { args?: Json };
export type Freeze = Schemas["FreezeState"];
export type Explanation = Schemas["PolicyExplanation"];
