import { describe, expect, it } from "vitest";
import { applySgr, caret, colourOf, PLAIN, parseAnsi, styleAfter } from "./ansi";

const textOf = (raw: string) =>
  parseAnsi(raw)
    .pieces.map((piece) => (piece.control ? `{${piece.text}}` : piece.text))
    .join("");
const styles = (raw: string) => parseAnsi(raw).pieces.map((piece) => piece.style);

describe("colours", () => {
  it("become pieces", () => {
    expect(parseAnsi("ok \u001b[1;31mfailed\u001b[0m done").pieces).toEqual([
      { text: "ok ", style: PLAIN },
      { text: "failed", style: { ...PLAIN, colour: "red", bold: true } },
      { text: " done", style: PLAIN },
    ]);
  });

  it.each([
    ["\u001b[38;5;196mx", "red"],
    ["\u001b[38;5;34mx", "green"],
    ["\u001b[38;5;220mx", "yellow"],
    ["\u001b[38;5;27mx", "blue"],
    ["\u001b[38;5;201mx", "magenta"],
    ["\u001b[38;5;51mx", "cyan"],
    ["\u001b[38;5;245mx", "grey"],
    ["\u001b[38;5;255mx", null],
    ["\u001b[38;5;9mx", "red"],
    ["\u001b[38;2;255;30;10mx", "red"],
    ["\u001b[38:2::10:200:40mx", "green"],
    ["\u001b[38:2:10:200:40mx", "green"],
    ["\u001b[38:5:27mx", "blue"],
    ["\u001b[97mx", null],
    ["\u001b[90mx", "grey"],
    ["\u001b[95mx", "magenta"],
  ])("of every palette have one of ours: %j", (raw, colour) => {
    expect(styles(raw)[0]?.colour).toBe(colour);
  });

  it("of a background don't take the next parameter for another", () => {
    expect(styles("\u001b[48;2;1;2;31;4mx")[0]).toMatchObject({ colour: null, underline: true });
    expect(styles("\u001b[48;5;196;32mx")[0]).toMatchObject({ background: "red", colour: "green" });
    expect(styles("\u001b[58;5;196;32mx")[0]).toMatchObject({ colour: "green" });
  });

  it("of black on black can be read", () => {
    expect(colourOf(0, 0, 0)).toBeNull();
    expect(styles("\u001b[30;40mx")[0]).toMatchObject({ colour: "grey", background: "grey" });
  });

  it("end where they are switched off", () => {
    const all = "1;2;3;4;7;8;9;31;41";
    expect(applySgr(applySgr(PLAIN, all), "22;23;24;27;28;29;39;49")).toEqual(PLAIN);
    expect(applySgr(applySgr(PLAIN, all), "")).toEqual(PLAIN);
    expect(applySgr(PLAIN, "4:3").underline).toBe(true);
    expect(applySgr(applySgr(PLAIN, "4"), "4:0").underline).toBe(false);
  });

  it("go on into the next line", () => {
    const { style } = parseAnsi("\u001b[31mone");
    expect(parseAnsi("two", style).pieces[0]?.style.colour).toBe("red");
    expect(styleAfter("\u001b[31mone", PLAIN)).toEqual(style);
  });
});

describe("everything else a terminal would do", () => {
  it.each([
    ["a\u001b[2Kb", "a{^[[2K}b"],
    ["a\u001b[10;20Hb", "a{^[[10;20H}b"],
    ["a\u001b]0;title\u0007b", "a{^[]0;title^G}b"],
    ["a\u001b]8;;https://evil.example\u001b\\b", "a{^[]8;;https://evil.example^[\\}b"],
    ["a\u001bP+q544e\u001b\\b", "a{^[P+q544e^[\\}b"],
    ["a\u001bcb", "a{^[c}b"],
    ["a\u0000b\u0007c\u0008d\u007f", "a{^@}b{^G}c{^H}d{^?}"],
    ["a\u009b2Jb", "a{M-^[2J}b"],
    ["a\u001b[?25lb", "a{^[[?25l}b"],
    ["a\u001b[>4;2mb", "a{^[[>4;2m}b"],
    ["a\u001b", "a{^[}"],
    ["a\u001b[", "a{^[[}"],
    ["a\u001b[31", "a{^[[}31"],
    ["a\u001b(B\u001b[mb", "ab"],
    ["done\u001b[K", "done"],
    ["a\u001b[1Kb", "a{^[[1K}b"],
  ])("is named and not done: %j", (raw, shown) => {
    expect(textOf(raw)).toBe(shown);
  });

  it("can't swallow what comes after a string without an end", () => {
    expect(textOf("a\u001b]0;rm -rf /")).toBe("a{^[]}0;rm -rf /");
    expect(textOf(`\u001b]0;${"x".repeat(5000)}\u0007`)).toMatch(/^\{\^\[\]\}0;x+\{\^G\}$/);
  });

  it("says what it would have done", () => {
    expect(parseAnsi("\u001b[2J").pieces[0]?.control).toBe("erase the screen");
    expect(parseAnsi("\u001b]8;;x\u0007").pieces[0]?.control).toBe("make a link");
  });

  it("never leaves a control character, and never throws, whatever bytes come", () => {
    let seed = 42;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return seed % below;
    };
    const likely = "\u001b\u001b[]Pm;:0123456789?\u0007\\\u009b\u009c\u0090K\rHJabc";
    for (let round = 0; round < 3000; round += 1) {
      const raw = Array.from({ length: random(60) }, () =>
        random(3) > 0 ? (likely[random(likely.length)] ?? "") : String.fromCharCode(random(0x180)),
      ).join("");
      const { pieces, style } = parseAnsi(raw);
      expect(styleAfter(raw, PLAIN), JSON.stringify(raw)).toEqual(style);
      const shown = pieces.map((piece) => piece.text).join("");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left
      expect(shown, JSON.stringify(raw)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      // Printable text outside of sequences is kept: there is never more than came.
      expect(shown.length).toBeLessThanOrEqual(caret(raw).length);
    }
  });
});
