import { describe, expect, it } from "vitest";
import { MAX_LINE, TerminalText } from "./terminal";

const shown = (terminal: TerminalText) =>
  Array.from({ length: terminal.count }, (_, index) =>
    terminal
      .line(index)
      .pieces.map((piece) => piece.text)
      .join(""),
  );

describe("lines of a terminal", () => {
  it("end at line feeds, with or without carriage returns, and the last needs none", () => {
    expect(shown(new TerminalText("a\r\nb\n\nc\n"))).toEqual(["a", "b", "", "c"]);
    expect(shown(new TerminalText("a"))).toEqual(["a"]);
    expect(new TerminalText("").count).toBe(0);
  });

  it("show the last state of a progress bar, and all of them when unfolded", () => {
    const text = "begin\n 10 %\r\u001b[K 50 %\r\u001b[2K100 %\r\nend\n";
    const folded = new TerminalText(text);
    expect(shown(folded)).toEqual(["begin", "100 %", "end"]);
    expect(folded.line(1).folded).toBe(2);
    expect(folded.foldable).toBe(1);
    expect(shown(new TerminalText(text, true))).toEqual(["begin", " 10 %", " 50 %", "100 %", "end"]);
  });

  it("can't be hidden by a return at the start of the line", () => {
    expect(shown(new TerminalText("rm -rf /\r\r\n"))).toEqual(["rm -rf /"]);
  });

  it("carry their colour over lines, wherever one begins to look", () => {
    const lines = Array.from({ length: 2_000 }, (_, index) =>
      index % 500 === 0 ? `\u001b[3${1 + ((index / 500) % 4)}m` : `line ${index}`,
    );
    const colours = ["red", "green", "yellow", "blue"];
    for (const at of [1999, 3, 700, 1499]) {
      const terminal = new TerminalText(lines.join("\n"));
      expect(terminal.line(at).pieces[0]?.style.colour).toBe(colours[Math.floor(at / 500)]);
    }
    const ahead = new TerminalText(lines.join("\n"));
    expect(ahead.lookAhead(() => true)).toBe(false);
    expect(ahead.lookAhead(() => false)).toBe(true);
    expect(ahead.line(1999).pieces[0]?.style.colour).toBe("blue");
  });

  it("are cut when one alone would block the page", () => {
    const line = new TerminalText("x".repeat(MAX_LINE + 7)).line(0);
    expect([line.pieces[0]?.text.length, line.cut]).toEqual([MAX_LINE, 7]);
  });

  it("are found", () => {
    const terminal = new TerminalText("An Error\nfine\nerror again\n");
    expect(terminal.find("error")).toEqual([0, 2]);
    expect(terminal.find("Error")).toEqual([0]);
    expect(terminal.find("")).toEqual([]);
  });

  it("of a hundred thousand take little to split and to look at", () => {
    const text = Array.from({ length: 100_000 }, (_, index) => `\u001b[32m${index}\u001b[0m some words of a log`).join(
      "\n",
    );
    const terminal = new TerminalText(text);
    expect(terminal.count).toBe(100_000);
    expect(terminal.line(99_999).pieces.map((piece) => piece.text)).toEqual(["99999", " some words of a log"]);
  });
});
