/**
 * Pictures in results: PNG, JPEG, GIF or WebP by their first bytes, whatever a name or a type says of them. Vector
 * graphics are documents that can do things, and are no pictures here. Pure.
 */
import { fromBase64 } from "./bytes";

export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

export interface Picture {
  type: ImageType;
  base64: string;
  bytes: number;
  width: number;
  height: number;
}

/** A small file can unpack to gigabytes; so many pixels are drawn at most. */
export const MAX_PIXELS = 40_000_000;
export const MAX_BASE64 = 16 * 1024 * 1024;
const MIN_BASE64 = 40;

const STARTS: [string, ImageType][] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGODdh", "image/gif"],
  ["R0lGODlh", "image/gif"],
  ["UklGR", "image/webp"],
];
const DATA_URL = /^data:[\w.+/-]{0,80};base64,/i;

/** Whether a text may be a picture, from its first letters alone. */
export function mayBePicture(text: string): boolean {
  if (text.length < MIN_BASE64) return false;
  const start = text.slice(0, 120).replace(DATA_URL, "").trimStart();
  return STARTS.some(([letters]) => start.startsWith(letters));
}

/** The picture that a text in base64 holds, with or without the head of a data URL; `null` if it holds none. */
export function readPicture(text: string): Picture | null {
  if (!mayBePicture(text) || text.length > MAX_BASE64) return null;
  const base64 = text.replace(DATA_URL, "").replace(/\s+/g, "");
  const type = STARTS.find(([letters]) => base64.startsWith(letters))?.[1];
  if (!type || base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  // The size stands in the first few hundred bytes, but for photographs with large notes.
  const head = fromBase64(base64.slice(0, 256 * 1024));
  const size = sizeOf(type, head);
  if (!size || size[0] <= 0 || size[1] <= 0) return null;
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return { type, base64, bytes: (base64.length / 4) * 3 - padding, width: size[0], height: size[1] };
}

type Size = [width: number, height: number];

function sizeOf(type: ImageType, bytes: Uint8Array): Size | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    if (type === "image/png") return ascii(bytes, 12, "IHDR") ? [view.getUint32(16), view.getUint32(20)] : null;
    if (type === "image/gif") return [view.getUint16(6, true), view.getUint16(8, true)];
    return type === "image/webp" ? webpSize(bytes, view) : jpegSize(view);
  } catch {
    // It ends before it tells its size.
    return null;
  }
}

function ascii(bytes: Uint8Array, at: number, word: string): boolean {
  return [...word].every((letter, index) => bytes[at + index] === letter.charCodeAt(0));
}

function webpSize(bytes: Uint8Array, view: DataView): Size | null {
  if (!ascii(bytes, 8, "WEBP")) return null;
  if (ascii(bytes, 12, "VP8 ")) return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (ascii(bytes, 12, "VP8L")) {
    const bits = view.getUint32(21, true);
    return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
  }
  if (!ascii(bytes, 12, "VP8X")) return null;
  return [(view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1];
}

/** Steps over the segments of a JPEG to the one that begins its frame. */
function jpegSize(view: DataView): Size | null {
  let at = 2;
  while (view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}
