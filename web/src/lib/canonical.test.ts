import { describe, expect, it } from "vitest";
import { canonical } from "./canonical";

describe("canonical JSON", () => {
  it("has one text for one value, whatever the order of its keys", () => {
    expect(canonical({ b: [1, { z: null, a: true }], a: "x" })).toBe('{"a":"x","b":[1,{"a":true,"z":null}]}');
    expect(canonical({ a: "x", b: [1, { a: true, z: null }] })).toBe('{"a":"x","b":[1,{"a":true,"z":null}]}');
  });

  it("sorts keys by UTF-16 code units and keeps the order of lists", () => {
    // The emoji's first code unit is below U+FB33 though its code point is above.
    expect(canonical({ "\ufb33": 1, "😀": 2, "1": 3, "": 4 })).toBe('{"":4,"1":3,"😀":2,"\ufb33":1}');
    expect(canonical([3, 1, 2])).toBe("[3,1,2]");
  });

  it("writes numbers and texts as RFC 8785 does", () => {
    expect(canonical(JSON.parse("[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0]"))).toBe(
      "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]",
    );
    expect(canonical('€$\u000f\nA\'B"\\\\"/')).toBe('"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"');
  });
});
