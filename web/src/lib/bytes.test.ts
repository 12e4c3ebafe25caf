import { describe, expect, it } from "vitest";
import { fromBase64, fromBase64url, fromHex, sha256, toBase64, toBase64url, toHex } from "./bytes";

describe("bytes as text", () => {
  it("come back as they were, whatever their length", () => {
    for (let length = 0; length < 70; length += 1) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 151 + length * 7) & 0xff);
      expect(fromBase64(toBase64(bytes))).toEqual(bytes);
      expect(fromBase64url(toBase64url(bytes))).toEqual(bytes);
      expect(fromHex(toHex(bytes))).toEqual(bytes);
      expect(toBase64url(bytes)).toMatch(/^[\w-]*$/);
    }
  });

  it("are taken from buffers as well", () => {
    expect(toHex(new Uint8Array([0, 15, 255]).buffer)).toBe("000fff");
    expect(toBase64url(new Uint8Array([251, 255]).buffer)).toBe("-_8");
  });

  it("are refused where the text is something else", () => {
    for (const text of ["a+b/", "ab cd", "ab=="]) expect(() => fromBase64url(text)).toThrow();
    for (const text of ["abc", "zz", "0x00"]) expect(() => fromHex(text)).toThrow();
    expect(() => fromBase64("*")).toThrow();
  });

  it("have the digest that everybody else computes", async () => {
    expect(await sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(await sha256("grün")).toBe("fe263064ba02eaeac482aaf1309553779bdb78e385cb1374654de293e191d785");
  });
});
