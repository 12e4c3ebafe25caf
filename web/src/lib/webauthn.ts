/** Passkeys: what the browser is asked for, and what of its answer is sent. */
import type { KeyInput, MyKey, Signature } from "../api/signing";
import { fromBase64url, fromHex, toBase64, toBase64url } from "./bytes";

/** Long enough to fetch a phone. */
const TIMEOUT_MS = 120_000;

/** The algorithms that hosts check, as COSE numbers: ES256, EdDSA, RS256. */
const ALGORITHMS = [-7, -8, -257];

export function assertionOptions(
  digest: string,
  rpId: string,
  keys: readonly MyKey[],
): PublicKeyCredentialRequestOptions {
  return {
    challenge: fromHex(digest),
    rpId,
    allowCredentials: keys.flatMap((key) =>
      key.credential_id ? [{ type: "public-key" as const, id: fromBase64url(key.credential_id) }] : [],
    ),
    userVerification: "required",
    timeout: TIMEOUT_MS,
  };
}

type Assertion = Pick<PublicKeyCredential, "id"> & {
  response: Pick<AuthenticatorAssertionResponse, "signature" | "clientDataJSON" | "authenticatorData">;
};

/** The signature as it is sent. Throws where another passkey answered than was asked for. */
export function signatureOf({ id, response }: Assertion, person: string, keys: readonly MyKey[]): Signature {
  const key = keys.find((each) => each.credential_id === id);
  if (!key) throw new Error("Another passkey answered than one of yours in the list of approvers.");
  return {
    person,
    key: key.key,
    signature: toBase64(response.signature),
    client_data: toBase64(response.clientDataJSON),
    authenticator_data: toBase64(response.authenticatorData),
  };
}

export function creationOptions(
  rpId: string,
  user: { name: string; display: string },
  known: readonly string[],
): PublicKeyCredentialCreationOptions {
  return {
    rp: { id: rpId, name: "Steadyhand" },
    // At random: it says nothing of the account, and a second passkey on one device doesn't replace the first.
    user: { id: crypto.getRandomValues(new Uint8Array(32)), name: user.name, displayName: user.display },
    // Nobody checks an attestation, so there is nothing to prove about this challenge.
    challenge: crypto.getRandomValues(new Uint8Array(32)),
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key" as const, alg })),
    excludeCredentials: known.map((id) => ({ type: "public-key" as const, id: fromBase64url(id) })),
    authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
    attestation: "none",
    timeout: TIMEOUT_MS,
  };
}

type Attestation = Pick<PublicKeyCredential, "rawId"> & {
  response: Pick<AuthenticatorAttestationResponse, "getPublicKey" | "getPublicKeyAlgorithm">;
};

/** The new passkey as it is offered. */
export function keyOf({ rawId, response }: Attestation, label: string): KeyInput {
  const spki = response.getPublicKey();
  if (!spki || !ALGORITHMS.includes(response.getPublicKeyAlgorithm())) {
    throw new Error("This authenticator makes a kind of key that hosts can't check. Use another one.");
  }
  return { kind: "webauthn", public: toBase64(spki), credential_id: toBase64url(rawId), label };
}

/** Why passkeys don't work on this page; `null` when they do. */
export function whyNoPasskeys(
  configured: { origin?: string | null; rp_id?: string | null } | undefined,
  here: { origin: string; supported: boolean },
): string | null {
  if (!configured) return null;
  if (!configured.origin || !configured.rp_id) {
    return "Passkeys are off: this manager's configuration names no origin for them ([security.approvers] origin and rp_id).";
  }
  if (configured.origin !== here.origin) {
    return `Passkeys work only at ${configured.origin}; this page is at ${here.origin}.`;
  }
  return here.supported ? null : "This browser has no passkeys here.";
}

export function thisPage(): { origin: string; supported: boolean } {
  return { origin: location.origin, supported: typeof PublicKeyCredential === "function" };
}

/** What to tell when the browser gives none. `null` for errors that aren't its. */
export function passkeyProblem(error: unknown): string | null {
  if (!(error instanceof DOMException)) return null;
  switch (error.name) {
    case "NotAllowedError":
    case "AbortError":
      return "The browser made none: it was cancelled, the time was over, or no passkey of yours is on this device.";
    case "InvalidStateError":
      return "This authenticator has a passkey of yours for this manager already.";
    case "SecurityError":
      return "The browser doesn't allow passkeys for this manager at this address.";
    case "NotSupportedError":
      return "This authenticator makes no kind of key that hosts can check.";
    default:
      return `The browser made none: ${error.message}`;
  }
}
