import { describe, expect, it } from "vitest";
import { toBase64 } from "./bytes";
import { mayBePicture, readPicture } from "./image";

const bytes = (...parts: (string | number[])[]) =>
  toBase64(
    Uint8Array.from(
      parts.flatMap((part) => (typeof part === "string" ? [...part].map((each) => each.charCodeAt(0)) : part)),
    ),
  );
const filler = new Array<number>(40).fill(0);
const png = bytes([0x89], "PNG\r\n\u001a\n", [0, 0, 0, 13], "IHDR", [0, 0, 2, 0x80, 0, 0, 1, 0xe0], filler);
const gif = bytes("GIF89a", [0x10, 0, 0x20, 0], filler);
const jpeg = bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xc0, 0, 17, 8, 0, 100, 0, 200], filler);
const vp8x = bytes("RIFF", [50, 0, 0, 0], "WEBPVP8X", [10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 49, 0, 0], filler);
const vp8l = bytes("RIFF", [50, 0, 0, 0], "WEBPVP8L", [10, 0, 0, 0, 0x2f, 99, 0x40, 12, 0], filler);
const vp8 = bytes("RIFF", [50, 0, 0, 0], "WEBPVP8 ", [10, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 100, 0, 50, 0], filler);

describe("a picture in a result", () => {
  it.each([
    ["PNG", png, "image/png", 640, 480],
    ["GIF", gif, "image/gif", 16, 32],
    ["JPEG", jpeg, "image/jpeg", 200, 100],
    ["WebP", vp8x, "image/webp", 100, 50],
    ["WebP without loss", vp8l, "image/webp", 100, 50],
    ["the first WebP", vp8, "image/webp", 100, 50],
  ])("is known by its bytes: %s", (_name, text, type, width, height) => {
    expect(readPicture(text)).toMatchObject({ type, width, height });
    expect(readPicture(`data:text/html;base64,${text}`)).toMatchObject({ type, width, height });
  });

  it.each([
    ["an SVG", bytes('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">', filler)],
    ["an SVG that claims to be a PNG", `data:image/png;base64,${bytes("<svg onload=alert(1)>", filler)}`],
    ["HTML", `data:text/html;base64,${bytes("<script>alert(1)</script>", filler)}`],
    ["a sound that begins as WebP does", bytes("RIFF", [50, 0, 0, 0], "WAVEfmt ", filler)],
    [
      "a sound that goes on as WebP does",
      bytes("RIFF", [50, 0, 0, 0], "WAVEVP8X", [10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 49, 0, 0], filler),
    ],
    ["a PNG of another alphabet", `${png.slice(0, 20)}<script>${png.slice(28)}`],
    ["a PNG without a size", png.slice(0, 20)],
    ["a JPEG without a frame", bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0, 0], filler)],
    ["a path that begins as a JPEG does", "/9j/some/path/that/is/long/enough/to/be/looked/at/again"],
    ["nothing", ""],
  ])("is not %s", (_name, text) => {
    expect(readPicture(text)).toBeNull();
  });

  it("costs nothing to rule out", () => {
    expect(mayBePicture("x".repeat(1_000_000))).toBe(false);
  });

  it("never throws, however it is cut or spoilt", () => {
    for (const whole of [png, gif, jpeg, vp8x, vp8l, vp8]) {
      for (let end = 0; end < whole.length; end += 4) expect(() => readPicture(whole.slice(0, end))).not.toThrow();
      for (let at = 0; at < whole.length; at += 1) {
        expect(() => readPicture(`${whole.slice(0, at)}A${whole.slice(at + 1)}`)).not.toThrow();
      }
    }
  });
});
