import { describe, expect, it } from "vitest";
import { extendSplit, openFence, type Split, splitBlocks } from "./blocks";

const blocksOf = (text: string) => splitBlocks(text).blocks;

describe("blocks of an answer", () => {
  it("end at blank lines", () => {
    expect(blocksOf("One.\n\nTwo\nlines.\n\n| a |\n|---|\n| 1 |\n")).toEqual([
      "One.\n\n",
      "Two\nlines.\n\n",
      "| a |\n|---|\n| 1 |\n",
    ]);
  });

  it("keep a fence whole, however many blank lines it holds", () => {
    expect(blocksOf("```\na\n\nb\n```\n\nafter")).toEqual(["```\na\n\nb\n```\n\n", "after"]);
    expect(blocksOf("~~~~\n```\n\n~~~\n\n")).toHaveLength(1);
  });

  it("keep loose lists together", () => {
    expect(blocksOf("1. a\n\n2. b\n\n   more\n\ntext")).toEqual(["1. a\n\n2. b\n\n   more\n\n", "text"]);
  });

  it("give the text again, and grow only at the end", () => {
    const text = "# H\n\nA *b*.\n\n- x\n\n- y\n\n```sh\nls\n\n```\nend\n\nlast";
    let split: Split | null = null;
    for (let end = 0; end <= text.length; end += 1) {
      const whole = splitBlocks(text.slice(0, end));
      expect(whole.blocks.join("")).toBe(text.slice(0, end));
      const before: Split | null = split;
      split = extendSplit(split, text.slice(0, end));
      expect(split).toEqual(whole);
      for (const [index, block] of (before?.blocks.slice(0, -2) ?? []).entries())
        expect(split.blocks[index]).toBe(block);
    }
  });

  it("begin anew for a text that doesn't go on", () => {
    expect(extendSplit(splitBlocks("one\n\ntwo"), "other").blocks).toEqual(["other"]);
    expect(extendSplit(splitBlocks(""), "a").blocks).toEqual(["a"]);
  });

  it("know a fence that is still being written", () => {
    expect(splitBlocks("a\n\n```sh\nls").open).toBe(true);
    expect(splitBlocks("```sh\nls\n```\n").open).toBe(false);
    expect(openFence("```sh title\nls\n")).toEqual({ language: "sh", code: "ls\n" });
    expect(openFence("````")).toEqual({ language: "", code: "" });
    expect(openFence("text\n```\n")).toBeNull();
  });
});
