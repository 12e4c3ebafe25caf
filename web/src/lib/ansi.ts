/** Splits terminal output into styled pieces. Colours only; everything else a terminal can do is dropped. */

export interface AnsiPiece {
  text: string;
  colour: AnsiColour | null;
  bold: boolean;
}

export type AnsiColour = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "grey";

const COLOURS: Record<number, AnsiColour | null> = {
  30: "grey",
  31: "red",
  32: "green",
  33: "yellow",
  34: "blue",
  35: "magenta",
  36: "cyan",
  37: null,
  39: null,
  90: "grey",
  91: "red",
  92: "green",
  93: "yellow",
  94: "blue",
  95: "magenta",
  96: "cyan",
  97: null,
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
const ESCAPE = /\u001b(?:\[([0-9;:?]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: other control characters show as nothing
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

export function parseAnsi(text: string): AnsiPiece[] {
  const pieces: AnsiPiece[] = [];
  let colour: AnsiColour | null = null;
  let bold = false;
  let from = 0;
  const push = (raw: string) => {
    const clean = raw.replace(CONTROLS, "");
    if (clean) pieces.push({ text: clean, colour, bold });
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] !== "m") continue;
    const codes = (match[1] || "0").split(/[;:]/).map(Number);
    for (let index = 0; index < codes.length; index += 1) {
      const code = codes[index] ?? 0;
      if (code === 0) {
        colour = null;
        bold = false;
      } else if (code === 1) bold = true;
      else if (code === 22) bold = false;
      else if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4;
      else if (code in COLOURS) colour = COLOURS[code] ?? null;
    }
  }
  push(text.slice(from));
  return pieces;
}
