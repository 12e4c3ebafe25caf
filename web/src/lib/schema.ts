/**
 * The part of JSON Schema that parameter schemas use: checking values, and defaults for forms. The manager checks
 * again with a full validator; this one only answers sooner.
 */
import type { Json, JsonObject, JsonSchema } from "../api/types";

export interface SchemaProblem {
  /** The field's path, `paths/0`; empty for the whole. */
  at: string;
  message: string;
}

/** Takes `null` out of a union: optional fields of Rust structs come as `T | null`. */
export function plain(schema: JsonSchema): JsonSchema {
  const union = schema.anyOf ?? schema.oneOf;
  if (union) {
    const rest = union.filter((each) => each.type !== "null");
    if (rest.length === 1 && rest[0]) {
      const { anyOf: _anyOf, oneOf: _oneOf, ...outer } = schema;
      return plain({ ...rest[0], ...outer });
    }
    // Rust enums with documented variants come as a union of constants.
    if (rest.length > 0 && rest.every((each) => each.const !== undefined || each.enum !== undefined)) {
      const { anyOf: _anyOf, oneOf: _oneOf, ...outer } = schema;
      return { ...outer, enum: rest.flatMap((each) => (each.const !== undefined ? [each.const] : (each.enum ?? []))) };
    }
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    const first = types.length === 1 ? types[0] : undefined;
    if (first) return { ...schema, type: first, enum: schema.enum?.filter((value) => value !== null) };
  }
  return schema;
}

export function isNullable(schema: JsonSchema): boolean {
  const union = schema.anyOf ?? schema.oneOf ?? [];
  return (
    schema.type === "null" ||
    (Array.isArray(schema.type) && schema.type.includes("null")) ||
    union.some((each) => each.type === "null")
  );
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

function isOfType(value: Json, type: string): boolean {
  if (type === "integer") return typeof value === "number" && Number.isInteger(value);
  return typeOf(value) === type;
}

const TYPE_WORDS: Record<string, string> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

export function check(schema: JsonSchema, value: Json, at = ""): SchemaProblem[] {
  if (value === null && isNullable(schema)) return [];
  const wanted = plain(schema);
  const types = wanted.type === undefined ? [] : Array.isArray(wanted.type) ? wanted.type : [wanted.type];
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) {
    return [{ at, message: `must be ${types.map((type) => TYPE_WORDS[type] ?? type).join(" or ")}` }];
  }
  const problems: SchemaProblem[] = [];
  const problem = (message: string) => problems.push({ at, message });
  if (wanted.enum && !wanted.enum.some((each) => same(each, value))) {
    problem(`must be one of ${wanted.enum.map((each) => String(each)).join(", ")}`);
  }
  if (wanted.const !== undefined && !same(wanted.const, value)) problem(`must be ${JSON.stringify(wanted.const)}`);
  const union = wanted.anyOf ?? wanted.oneOf;
  if (union && !union.some((each) => check(each, value, at).length === 0)) problem("fits none of the allowed forms");

  if (typeof value === "number") {
    if (wanted.minimum !== undefined && value < wanted.minimum) problem(`must be at least ${wanted.minimum}`);
    if (wanted.maximum !== undefined && value > wanted.maximum) problem(`must be at most ${wanted.maximum}`);
    if (wanted.exclusiveMinimum !== undefined && value <= wanted.exclusiveMinimum) {
      problem(`must be more than ${wanted.exclusiveMinimum}`);
    }
    if (wanted.exclusiveMaximum !== undefined && value >= wanted.exclusiveMaximum) {
      problem(`must be less than ${wanted.exclusiveMaximum}`);
    }
  }
  if (typeof value === "string") {
    const length = [...value].length;
    if (wanted.minLength !== undefined && length < wanted.minLength) {
      problem(wanted.minLength === 1 ? "must not be empty" : `must have at least ${wanted.minLength} characters`);
    }
    if (wanted.maxLength !== undefined && length > wanted.maxLength) {
      problem(`must have at most ${wanted.maxLength} characters`);
    }
    if (wanted.pattern !== undefined && !matches(wanted.pattern, value)) problem(`must match ${wanted.pattern}`);
  }
  if (Array.isArray(value)) {
    if (wanted.minItems !== undefined && value.length < wanted.minItems) {
      problem(`must have at least ${wanted.minItems} ${wanted.minItems === 1 ? "entry" : "entries"}`);
    }
    if (wanted.maxItems !== undefined && value.length > wanted.maxItems) {
      problem(`must have at most ${wanted.maxItems} entries`);
    }
    if (wanted.uniqueItems && value.some((each, index) => value.slice(0, index).some((other) => same(each, other)))) {
      problem("must not hold an entry twice");
    }
    const { items } = wanted;
    if (items) problems.push(...value.flatMap((each, index) => check(items, each, join(at, String(index)))));
  }
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const key of wanted.required ?? []) {
      if (value[key] === undefined) problems.push({ at: join(at, key), message: "is required" });
    }
    for (const [key, each] of Object.entries(value)) {
      const property = wanted.properties?.[key];
      if (property) problems.push(...check(property, each, join(at, key)));
      else if (wanted.additionalProperties === false) problems.push({ at: join(at, key), message: "is not known" });
      else if (typeof wanted.additionalProperties === "object") {
        problems.push(...check(wanted.additionalProperties, each, join(at, key)));
      }
    }
  }
  return problems;
}

function join(at: string, key: string): string {
  return at ? `${at}/${key}` : key;
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    // A pattern of another dialect: the manager decides.
    return true;
  }
}

function same(a: Json, b: Json): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** What a form starts with: required fields and fields with a default show; the rest is left out of the call. */
export function defaults(schema: JsonSchema): JsonObject {
  const values: JsonObject = {};
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && property.default !== null) values[key] = property.default;
  }
  return values;
}

/** `≥ 1, ≤ 10 · default 3` */
export function limitsOf(schema: JsonSchema): string {
  const wanted = plain(schema);
  const limits: string[] = [];
  if (wanted.minimum !== undefined) limits.push(`≥ ${wanted.minimum}`);
  if (wanted.maximum !== undefined) limits.push(`≤ ${wanted.maximum}`);
  if (wanted.maxLength !== undefined) limits.push(`≤ ${wanted.maxLength} characters`);
  if (wanted.minItems !== undefined || wanted.maxItems !== undefined) {
    limits.push(`${wanted.minItems ?? 0}–${wanted.maxItems ?? "∞"} entries`);
  }
  if (wanted.enum) limits.push(wanted.enum.map((each) => String(each)).join(" | "));
  const text = limits.join(", ");
  const fallback =
    schema.default !== undefined && schema.default !== null ? `default ${JSON.stringify(schema.default)}` : "";
  return [text, fallback].filter(Boolean).join(" · ");
}

export function typeWord(schema: JsonSchema): string {
  const wanted = plain(schema);
  if (wanted.enum) return "choice";
  const type = Array.isArray(wanted.type) ? wanted.type.join(" | ") : (wanted.type ?? "any");
  if (type === "array" && wanted.items) return `list of ${typeWord(wanted.items)}`;
  return type;
}
