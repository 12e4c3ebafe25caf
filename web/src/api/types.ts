/** The words of the API: the generated types by their names, with JSON where the document says "anything". */
import type { components, operations } from "./generated";

type Schemas = components["schemas"];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** JSON Schema, as far as forms use it. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: Json[];
  const?: Json;
  default?: Json;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

export type Role = Schemas["Role"];
export type CapabilityClass = Schemas["Class"];
export type Scope = Schemas["Scope"];
export type CallState = Schemas["CallState"];
export type Origin = Schemas["Origin"];
export type AccessMode = Schemas["AccessMode"];
export type HostState = Schemas["HostState"];
export type ModelKind = Schemas["ModelKind"];
export type TokenScope = Schemas["TokenScope"];

export type Me = Schemas["Me"];
export type Problem = Partial<Schemas["Problem"]> & Pick<Schemas["Problem"], "title" | "status">;
export type User = Schemas["User"];
export type Host = Schemas["Host"];
export type HostDetail = Schemas["HostDetail"];
export type EnrollmentToken = Schemas["EnrollmentToken"];
export type NewEnrollmentToken = Schemas["CreatedEnrollment"];
export type CapabilityHost = Schemas["CapabilityHost"];
export type Capability = Omit<Schemas["Capability"], "params"> & { params: JsonSchema; classed_by?: string | null };
export type Pack = Schemas["Pack"];
export type Call = Omit<Schemas["Call"], "args" | "result" | "schema"> & {
  args: Json;
  result?: Json;
  schema?: JsonSchema;
};
export type AuditRow = Omit<Schemas["AuditRow"], "actor" | "payload"> & { actor: Json; payload: Json };
export type CallDetail = Call & { audit: AuditRow[]; children: Call[] };
export type RunCall = Omit<Schemas["CreateCallRequest"], "args" | "edge_id" | "scope"> & {
  args: JsonObject;
  edge_id?: number;
  scope?: Scope;
};
export type CallFilter = Omit<
  NonNullable<operations["list_calls"]["parameters"]["query"]>,
  "cursor" | "limit" | "parent"
>;
export type DensityBucket = Schemas["DensityBucket"];
export type ChainProof = Schemas["Verification"];
export type Session = Schemas["Session"];
export type SessionChange = Schemas["UpdateSessionRequest"];
export type Model = Schemas["Model"];
export type ModelInput = Schemas["CreateModelRequest"];
export type ModelTest = Schemas["ModelTest"];
export type ApiToken = Schemas["Token"];
export type About = Schemas["About"];
export type UserInput = Schemas["CreateUserRequest"];
export type UserChange = Schemas["UpdateUserRequest"];
export type TokenInput = Schemas["CreateTokenRequest"];

export interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}
