import { describe, expect, it } from "vitest";
import { fuzzyFilter, fuzzyScore } from "./fuzzy";

describe("fuzzy search", () => {
  it("puts whole words before scattered letters", () => {
    const found = fuzzyFilter("load", ["lots of all d", "host_load", "reload_config"], (text) => text);
    expect(found).toEqual(["host_load", "reload_config", "lots of all d"]);
  });

  it("finds nothing where a letter is missing", () => {
    expect(fuzzyScore("xyz", "host_load")).toBeNull();
  });
});
