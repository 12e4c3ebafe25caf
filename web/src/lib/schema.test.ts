import { describe, expect, it } from "vitest";
import type { Json, JsonSchema } from "../api/types";
import { check, defaults, limitsOf, plain } from "./schema";

const probe: JsonSchema = {
  type: "object",
  properties: {
    target: { type: "string", minLength: 1, maxLength: 20 },
    count: { type: "integer", minimum: 1, maximum: 10, default: 1 },
    kind: { enum: ["A", "AAAA"] },
    paths: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2 },
    grep: { type: ["string", "null"] },
  },
  required: ["target"],
  additionalProperties: false,
};

function told(value: Json): string[] {
  return check(probe, value).map((each) => `${each.at}: ${each.message}`);
}

describe("the schema check", () => {
  it("accepts what fits", () => {
    expect(told({ target: "localhost:22", count: 3, kind: "A", paths: ["/var"], grep: null })).toEqual([]);
  });

  it.each<[Json, string]>([
    [{}, "target: is required"],
    [{ target: "" }, "target: must not be empty"],
    [{ target: 22 }, "target: must be text"],
    [{ target: "a", count: 0 }, "count: must be at least 1"],
    [{ target: "a", count: 11 }, "count: must be at most 10"],
    [{ target: "a", count: 1.5 }, "count: must be a whole number"],
    [{ target: "a", kind: "MX" }, "kind: must be one of A, AAAA"],
    [{ target: "a", paths: [] }, "paths: must have at least 1 entry"],
    [{ target: "a", paths: ["/a", 3] }, "paths/1: must be text"],
    [{ target: "a", colour: "red" }, "colour: is not known"],
    [[], ": must be an object"],
  ])("says what is wrong with %j", (value, message) => {
    expect(told(value)).toEqual([message]);
  });

  it("counts characters, not code units", () => {
    expect(check({ type: "string", maxLength: 2 }, "🙂🙂")).toEqual([]);
  });

  it("reads optional fields and documented enums of Rust structs", () => {
    expect(plain({ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], description: "How many" })).toEqual({
      type: "integer",
      minimum: 1,
      description: "How many",
    });
    expect(plain({ oneOf: [{ const: "cpu" }, { const: "mem" }] }).enum).toEqual(["cpu", "mem"]);
    expect(check({ anyOf: [{ type: "integer" }, { type: "null" }] }, null)).toEqual([]);
    expect(check({ oneOf: [{ const: "cpu" }, { const: "mem" }] }, "io")).toHaveLength(1);
  });

  it("leaves a pattern of another dialect to the manager", () => {
    expect(check({ type: "string", pattern: "(?x) a # comment" }, "b")).toEqual([]);
  });

  it("starts a form with the defaults and names the limits", () => {
    expect(defaults(probe)).toEqual({ count: 1 });
    expect(limitsOf(probe.properties?.count ?? {})).toBe("≥ 1, ≤ 10 · default 1");
  });
});
