import { describe, expect, it } from "vitest";
import type { Json } from "../../api/types";
import { sortRows } from "./sort";

const sorted = (values: Json[], falling = false) =>
  sortRows(
    values.map((v) => ({ v })),
    { key: "v", falling },
  ).map((row) => row.v);

describe("the order of rows", () => {
  it("is by size for numbers, with what is missing last either way", () => {
    expect(sorted([10, null, 9, -1])).toEqual([-1, 9, 10, null]);
    expect(sorted([10, null, 9, -1], true)).toEqual([10, 9, -1, null]);
  });

  it("is as people sort words", () => {
    expect(sorted(["web-10", "Web-9", "web-2", "", "äther", "zebra"])).toEqual([
      "äther",
      "web-2",
      "Web-9",
      "web-10",
      "zebra",
      "",
    ]);
  });

  it("is that in which they came when nobody asks, and keeps it among equals", () => {
    const rows = [
      { a: 1, n: 1 },
      { a: 1, n: 2 },
      { a: 0, n: 3 },
    ];
    expect(sortRows(rows, null)).toBe(rows);
    expect(sortRows(rows, { key: "a", falling: false }).map((row) => row.n)).toEqual([3, 1, 2]);
    expect(rows.map((row) => row.n)).toEqual([1, 2, 3]);
  });
});
