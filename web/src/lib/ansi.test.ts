import { describe, expect, it } from "vitest";
import { parseAnsi } from "./ansi";

describe("terminal output", () => {
  it("becomes coloured pieces", () => {
    expect(parseAnsi("ok \u001b[1;31mfailed\u001b[0m done")).toEqual([
      { text: "ok ", colour: null, bold: false },
      { text: "failed", colour: "red", bold: true },
      { text: " done", colour: null, bold: false },
    ]);
  });

  it("loses cursor movement, titles, links and stray control characters", () => {
    expect(
      parseAnsi("a\u001b[2Kb\u001b]0;title\u0007c\u0000d\r")
        .map((piece) => piece.text)
        .join(""),
    ).toBe("abcd");
  });

  it("passes over colours of the large palettes", () => {
    expect(parseAnsi("\u001b[38;5;196mx\u001b[48;2;1;2;31my").map((piece) => piece.colour)).toEqual([null, null]);
  });
});
