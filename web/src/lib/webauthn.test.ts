import { describe, expect, it } from "vitest";
import type { MyKey } from "../api/signing";
import { fromBase64url, fromHex, toHex } from "./bytes";
import { assertionOptions, creationOptions, keyOf, passkeyProblem, signatureOf, whyNoPasskeys } from "./webauthn";

const digest = "00ff".repeat(16);
const keys: MyKey[] = [
  { key: "aaaa000000000000", kind: "webauthn", credential_id: "AQID", label: "phone" },
  { key: "bbbb000000000000", kind: "webauthn", credential_id: "-_8", label: "stick" },
  { key: "cccc000000000000", kind: "ed25519", credential_id: null, label: "key file" },
];
const buffer = (...bytes: number[]) => new Uint8Array(bytes).buffer;

describe("asking for a signature", () => {
  it("challenges with the digest's bytes, for one's own passkeys, verified", () => {
    const options = assertionOptions(digest, "ops.example", keys);
    expect(toHex(options.challenge as Uint8Array)).toBe(digest);
    expect(options.rpId).toBe("ops.example");
    expect(options.userVerification).toBe("required");
    expect(options.allowCredentials?.map((each) => toHex(each.id as Uint8Array))).toEqual(["010203", "fbff"]);
  });

  it("refuses a digest that is none", () => {
    expect(() => assertionOptions("nonsense", "ops.example", keys)).toThrow();
  });

  it("sends what was signed under the key that answered", () => {
    const response = {
      signature: buffer(1, 2),
      clientDataJSON: new TextEncoder().encode('{"type":"webauthn.get"}').buffer as ArrayBuffer,
      authenticatorData: buffer(9),
    };
    expect(signatureOf({ id: "-_8", response }, "ana", keys)).toEqual({
      person: "ana",
      key: "bbbb000000000000",
      signature: "AQI=",
      client_data: "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0=",
      authenticator_data: "CQ==",
    });
    expect(() => signatureOf({ id: "ffff", response }, "ana", keys)).toThrow(/Another passkey/);
  });
});

describe("making a passkey", () => {
  it("asks for a verified one of a kind that hosts check, and for none that is there", () => {
    const options = creationOptions("ops.example", { name: "ana", display: "Ana" }, ["AQID"]);
    expect(options.rp).toEqual({ id: "ops.example", name: "Steadyhand" });
    expect(options.pubKeyCredParams.map((each) => each.alg)).toEqual([-7, -8, -257]);
    expect(options.authenticatorSelection).toEqual({ residentKey: "preferred", userVerification: "required" });
    expect(options.attestation).toBe("none");
    expect(options.excludeCredentials?.map((each) => each.id)).toEqual([fromBase64url("AQID")]);
    expect(options.user.id).toHaveLength(32);
    const other = creationOptions("ops.example", { name: "ana", display: "Ana" }, []);
    expect(other.user.id).not.toEqual(options.user.id);
    expect(options.user.id).not.toEqual(new TextEncoder().encode("ana"));
  });

  it("offers the public key and the credential", () => {
    const response = { getPublicKey: () => fromHex("3059").buffer, getPublicKeyAlgorithm: () => -7 };
    expect(keyOf({ rawId: buffer(251, 255), response }, "phone")).toEqual({
      kind: "webauthn",
      public: "MFk=",
      credential_id: "-_8",
      label: "phone",
    });
  });

  it("refuses a key that nobody could check", () => {
    const none = { getPublicKey: () => null, getPublicKeyAlgorithm: () => -7 };
    expect(() => keyOf({ rawId: buffer(1), response: none }, "")).toThrow(/can't check/);
    const other = { getPublicKey: () => buffer(1), getPublicKeyAlgorithm: () => -36 };
    expect(() => keyOf({ rawId: buffer(1), response: other }, "")).toThrow(/can't check/);
  });
});

describe("where passkeys don't work", () => {
  const configured = { origin: "https://ops.example", rp_id: "ops.example" };

  it("it says why", () => {
    expect(whyNoPasskeys(configured, { origin: "https://ops.example", supported: true })).toBeNull();
    expect(whyNoPasskeys(configured, { origin: "http://10.0.0.7:7180", supported: true })).toMatch(
      /only at https:\/\/ops\.example; this page is at http:\/\/10\.0\.0\.7:7180/,
    );
    expect(whyNoPasskeys(configured, { origin: "https://ops.example", supported: false })).toMatch(/browser/);
    expect(whyNoPasskeys({ origin: null, rp_id: null }, { origin: "x", supported: true })).toMatch(/names no origin/);
  });

  it("it says nothing before it knows", () => {
    expect(whyNoPasskeys(undefined, { origin: "x", supported: true })).toBeNull();
  });

  it("it tells the browser's refusals in words, and leaves other errors alone", () => {
    expect(passkeyProblem(new DOMException("", "NotAllowedError"))).toMatch(/cancelled/);
    expect(passkeyProblem(new DOMException("", "InvalidStateError"))).toMatch(/already/);
    expect(passkeyProblem(new DOMException("odd", "DataError"))).toMatch(/odd/);
    expect(passkeyProblem(new Error("no"))).toBeNull();
  });
});
