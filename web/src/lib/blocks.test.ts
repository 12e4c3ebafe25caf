import { describe, expect, it } from "vitest";
import { splitBlocks } from "./blocks";

describe("blocks of an answer", () => {
  it("end at blank lines", () => {
    expect(splitBlocks("One.\n\nTwo\nlines.\n\n| a |\n|---|\n| 1 |\n")).toEqual([
      "One.\n\n",
      "Two\nlines.\n\n",
      "| a |\n|---|\n| 1 |\n",
    ]);
  });

  it("keep a fence whole, however many blank lines it holds", () => {
    expect(splitBlocks("```\na\n\nb\n```\n\nafter")).toEqual(["```\na\n\nb\n```\n\n", "after"]);
    expect(splitBlocks("~~~~\n```\n\n~~~\n\n")).toHaveLength(1);
  });

  it("keep loose lists together", () => {
    expect(splitBlocks("1. a\n\n2. b\n\n   more\n\ntext")).toEqual(["1. a\n\n2. b\n\n   more\n\n", "text"]);
  });

  it("give the text again, and grow only at the end", () => {
    const text = "# H\n\nA *b*.\n\n- x\n\n- y\n\n```sh\nls\n\n```\nend\n\nlast";
    for (let end = 0; end <= text.length; end += 1) {
      const blocks = splitBlocks(text.slice(0, end));
      expect(blocks.join("")).toBe(text.slice(0, end));
    }
  });
});
