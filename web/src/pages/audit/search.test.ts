import { describe, expect, it } from "vitest";
import { filterOf, readAuditSearch, spanOf } from "./search";

const now = Date.parse("2026-05-02T12:00:20Z");

describe("the audit's address", () => {
  it("keeps what it knows and drops the rest", () => {
    expect(
      readAuditSearch({ tool: "host_load", edge: "3", user: 1.5, range: "2y", from: "yesterday", evil: "x" }),
    ).toEqual({
      tool: "host_load",
      edge: 3,
    });
  });

  it("means the last day unless told otherwise", () => {
    expect(filterOf({}, now)).toEqual({ from: "2026-05-01T12:01:00.000Z" });
    expect(filterOf({ range: "1h" }, now)).toEqual({ from: "2026-05-02T11:01:00.000Z" });
    expect(filterOf({ range: "all" }, now)).toEqual({});
  });

  it("lets a fixed span win", () => {
    const search = { range: "1h" as const, from: "2026-05-01T00:00:00Z", to: "2026-05-01T06:00:00Z" };
    expect(filterOf(search, now)).toEqual({ from: search.from, to: search.to });
    expect(spanOf(search, now)).toEqual({ from: Date.parse(search.from), to: Date.parse(search.to) });
  });
});
