import { describe, expect, it } from "vitest";
import type { Json } from "../../api/types";
import { holdersOf, rowsOf, searchTree } from "./tree";

const value: Json = { a: { b: [1, "two", null] }, "x/y~z": true, empty: {} };
const none = new Map<string, boolean>();
const found = (json: Json, query: string) => [...searchTree(json, query)].filter((each) => each !== null);

describe("the rows of a tree", () => {
  it("stand where a JSON pointer says", () => {
    expect(rowsOf(value, 9, none).map((row) => row.pointer)).toEqual([
      "",
      "/a",
      "/a/b",
      "/a/b/0",
      "/a/b/1",
      "/a/b/2",
      "/x~1y~0z",
      "/empty",
    ]);
  });

  it("are those that are open, by depth and by hand", () => {
    expect(rowsOf(value, 1, none)).toHaveLength(4);
    expect(rowsOf(value, 1, new Map([["/a", true]]))).toHaveLength(5);
    expect(rowsOf(value, 9, new Map([["", false]]))).toHaveLength(1);
    expect(rowsOf({ many: new Array(2_000).fill(0) }, 9, none)).toHaveLength(2);
    expect(rowsOf(new Array(2_000).fill(0), 1, none)).toHaveLength(2_001);
  });

  it("know what holds them", () => {
    expect(holdersOf("/a/b/0")).toEqual(["", "/a", "/a/b"]);
    expect(holdersOf("")).toEqual([]);
  });
});

describe("a search in a tree", () => {
  it("finds names and values, whatever their case, also in what is folded", () => {
    expect(found(value, "TWO")).toEqual(["/a/b/1"]);
    expect(found(value, "b")).toEqual(["/a/b"]);
    expect(found(value, "null")).toEqual(["/a/b/2"]);
    expect(found(value, "y~")).toEqual(["/x~1y~0z"]);
    expect(found("just text", "text")).toEqual([""]);
    expect(found(value, "")).toEqual([]);
    expect(found(value, "nothing")).toEqual([]);
  });

  it("pauses in a large one", () => {
    const pauses = [...searchTree(new Array(5_000).fill("x"), "y")];
    expect(pauses.length).toBeGreaterThanOrEqual(10);
    expect(pauses.every((each) => each === null)).toBe(true);
  });
});
