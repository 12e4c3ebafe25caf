import { describe, expect, it } from "vitest";
import { toCsv } from "./csv";

describe("a table for a spreadsheet", () => {
  it("quotes what needs it and leaves numbers numbers", () => {
    expect(toCsv(["name", "n"], [{ name: 'a "b", c\nd', n: -1.5 }, { name: null }, { n: true }])).toBe(
      'name,n\r\n"a ""b"", c\nd",-1.5\r\n,\r\n,true\r\n',
    );
  });

  it("has no formulas", () => {
    for (const text of ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1"]) {
      expect(toCsv(["a"], [{ a: text }])).toContain(`'${text}`);
    }
    expect(toCsv(["=HYPERLINK(1)"], [])).toBe("'=HYPERLINK(1)\r\n");
  });
});
