import { describe, expect, it } from "vitest";
import { isHiddenCharacter, shownPieces, shownText } from "./hidden";

describe("what doesn't show", () => {
  it.each([
    ["an override of the direction", "invoice\u202egpj.exe", "invoice⟨U+202E⟩gpj.exe"],
    ["an isolate", "a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"],
    ["a space without width", "pass\u200bword", "pass⟨U+200B⟩word"],
    ["a joiner between Latin letters", "ad\u200dmin", "ad⟨U+200D⟩min"],
    ["a byte order mark", "\ufeffroot", "⟨U+FEFF⟩root"],
    ["a soft hyphen", "ro\u00adot", "ro⟨U+00AD⟩ot"],
    ["an escape", "\u001b[2J", "⟨U+001B⟩[2J"],
    ["a control of the eighties", "\u009b2J", "⟨U+009B⟩2J"],
    ["a null", "a\u0000b", "a⟨U+0000⟩b"],
    ["a bell and a backspace", "a\u0007\u0008", "a⟨U+0007⟩⟨U+0008⟩"],
    ["a carriage return that overwrites", "safe\rrm -rf", "safe⟨U+000D⟩rm -rf"],
    ["a filler that looks like a space", "a\u3164b\uffa0c", "a⟨U+3164⟩b⟨U+FFA0⟩c"],
    ["a variation selector on a letter", "a\ufe0f", "a⟨U+FE0F⟩"],
    ["half of a surrogate pair", "a\ud800b", "a⟨U+D800⟩b"],
    ["a line separator", "a\u2028b", "a⟨U+2028⟩b"],
    ["an Arabic letter mark", "a\u061cb", "a⟨U+061C⟩b"],
  ])("names %s", (_what, text, shown) => {
    expect(shownText(text)).toBe(shown);
  });

  it("tells what letters say that no font draws", () => {
    const tags = [..."ignore all"].map((each) => String.fromCodePoint(0xe0000 + each.charCodeAt(0))).join("");
    expect(shownText(`Hello${tags}!`)).toBe("Hello⟨hidden text: “ignore all”⟩!");
  });

  it("counts long runs instead of naming each", () => {
    expect(shownText(`a${"\u200b".repeat(12)}b`)).toBe("a⟨U+200B × 12⟩b");
    expect(shownText(`a${"\u200b\u2060".repeat(6)}b`)).toBe("a⟨12 hidden characters⟩b");
  });

  it.each([
    "plain text, with\ttabs\nand lines\r\nof both kinds",
    "👩‍🚒 and 👍🏽 and ❤️ and 1️⃣",
    "می‌خواهم",
    "क्‍ष",
    "Grüße, 日本語, ελληνικά",
    "",
  ])("leaves alone what belongs: %j", (text) => {
    expect(shownText(text)).toBe(text);
  });

  it("loses nothing, whatever comes", () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      return seed % below;
    };
    for (let round = 0; round < 500; round += 1) {
      const text = Array.from({ length: random(40) }, () =>
        String.fromCharCode(random(4) === 0 ? random(0x10000) : random(0x2100)),
      ).join("");
      const pieces = shownPieces(text);
      const plain = pieces.filter((piece) => !piece.hidden).map((piece) => piece.text);
      for (const each of plain)
        for (const character of each) {
          if (isHiddenCharacter(character)) expect("\r\u200c\u200d\ufe0e\ufe0f").toContain(character);
        }
      const kept = [...text].filter((character) => !isHiddenCharacter(character)).join("");
      expect(plain.join("").replace(/\r|\u200c|\u200d|\ufe0e|\ufe0f/g, "")).toBe(kept);
    }
  });
});
