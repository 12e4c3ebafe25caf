import { describe, expect, it } from "vitest";
import { fromHex, toBase64 } from "./bytes";
import { readPublicKey } from "./keys";

const key = toBase64(fromHex(`302a300506032b6570032100${"0123456789abcdef".repeat(4)}`));

describe("a pasted public key", () => {
  it("is read from PEM, from base64 and from the lines for the list", () => {
    const pem = `-----BEGIN PUBLIC KEY-----\n${key.slice(0, 40)}\n${key.slice(40)}\n-----END PUBLIC KEY-----\n`;
    const lines = `# private key: ana.key.pem (it stays with ana)\n[[people]]\nperson = "ana"\n[[people.keys]]\nkind = "ed25519"\npublic = "${key}"\nlabel = "key file"\n`;
    for (const text of [pem, key, `  ${key}\n`, lines]) expect(readPublicKey(text)).toBe(key);
  });

  it("is refused when it is private, of another kind, or nothing", () => {
    expect(() => readPublicKey("-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----")).toThrow(
      /stays with you/,
    );
    expect(() => readPublicKey(toBase64(fromHex(`3059${"00".repeat(89)}`)))).toThrow(/no public Ed25519/);
    expect(() => readPublicKey(toBase64(fromHex("00".repeat(44))))).toThrow(/no public Ed25519/);
    expect(() => readPublicKey("what?!")).toThrow(/PREFIX\.pub\.pem/);
    expect(() => readPublicKey("")).toThrow();
  });
});
