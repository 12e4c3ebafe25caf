/** Public keys of key files, however they are pasted. */
import { fromBase64, toBase64, toHex } from "./bytes";

/** What comes before the 32 bytes of the key in an Ed25519 SubjectPublicKeyInfo (RFC 8410 §4). */
const SPKI_PREFIX = "302a300506032b6570032100";
const SPKI_BYTES = 44;

/**
 * An Ed25519 SubjectPublicKeyInfo in base64, from PEM, from base64, or from the lines that `approvers keygen` prints.
 * Throws an error that says what would be right.
 */
export function readPublicKey(text: string): string {
  if (/PRIVATE KEY/.test(text)) {
    throw new Error("This is a private key. It stays with you: paste the public one, PREFIX.pub.pem.");
  }
  const pem = /-----BEGIN PUBLIC KEY-----([\s\S]*?)-----END PUBLIC KEY-----/.exec(text)?.[1];
  const line = /^\s*public\s*=\s*["']([^"']*)["']/m.exec(text)?.[1];
  let bytes: Uint8Array;
  try {
    bytes = fromBase64((pem ?? line ?? text).replace(/\s/g, ""));
  } catch {
    throw new Error('Paste the contents of PREFIX.pub.pem, or the line `public = "…"` that `approvers keygen` prints.');
  }
  if (bytes.length !== SPKI_BYTES || !toHex(bytes).startsWith(SPKI_PREFIX)) {
    throw new Error("This is no public Ed25519 key. `steadyhand approvers keygen` makes one.");
  }
  return toBase64(bytes);
}
