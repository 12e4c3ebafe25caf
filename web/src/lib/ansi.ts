/**
 * Terminal output as styled pieces. Colours and weights are drawn; everything else a terminal would do (move, erase,
 * retitle, link, answer) is not done but named where it stands. No control character is left in any piece. Pure.
 */

export type AnsiColour = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "grey";

export interface AnsiStyle {
  colour: AnsiColour | null;
  background: AnsiColour | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
  /** The terminal would not show it; we do, and say so. */
  conceal: boolean;
}

export interface AnsiPiece {
  text: string;
  style: AnsiStyle;
  /** A control sequence, written as `cat -v` would, and what it would have done. */
  control?: string;
}

export const PLAIN: AnsiStyle = {
  colour: null,
  background: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
  conceal: false,
};

/** 0 to 7: black and white are the page's own, whichever theme it has. */
const BASE: readonly (AnsiColour | null)[] = ["grey", "red", "green", "yellow", "blue", "magenta", "cyan", null];

/** The nearest of our colours: those of the theme have contrast, a program's own might have none. */
export function colourOf(red: number, green: number, blue: number): AnsiColour | null {
  const max = Math.max(red, green, blue);
  const spread = max - Math.min(red, green, blue);
  if (spread < 32 || spread < max / 5) return max > 80 && max < 190 ? "grey" : null;
  const sector =
    max === red
      ? ((green - blue) / spread + 6) % 6
      : max === green
        ? (blue - red) / spread + 2
        : (red - green) / spread + 4;
  const hue = sector * 60;
  if (hue < 18 || hue >= 340) return "red";
  if (hue < 70) return "yellow";
  if (hue < 165) return "green";
  if (hue < 200) return "cyan";
  if (hue < 262) return "blue";
  return "magenta";
}

/** Steps of the colour cube that numbers from 16 to 231 name. */
const CUBE = [0, 95, 135, 175, 215, 255];

function paletteColour(index: number): AnsiColour | null {
  if (index < 16) return BASE[index % 8] ?? null;
  if (index < 232) {
    const cube = index - 16;
    return colourOf(CUBE[Math.floor(cube / 36)] ?? 0, CUBE[Math.floor(cube / 6) % 6] ?? 0, CUBE[cube % 6] ?? 0);
  }
  const grey = 8 + (index - 232) * 10;
  return colourOf(grey, grey, grey);
}

/** Reads the colour after 38 or 48 at `at`; tells how many parameters it took. */
function extendedColour(codes: readonly number[], at: number): { colour: AnsiColour | null; taken: number } {
  if (codes[at + 1] === 5) return { colour: paletteColour(codes[at + 2] ?? 0), taken: 2 };
  if (codes[at + 1] === 2) {
    return { colour: colourOf(codes[at + 2] ?? 0, codes[at + 3] ?? 0, codes[at + 4] ?? 0), taken: 4 };
  }
  return { colour: null, taken: codes.length };
}

/** The parts of `38:2::255:0:0`, which may leave a place for a colour space. */
function colonColour(parts: readonly number[], count: number): AnsiColour | null {
  if (parts[1] === 5) return paletteColour(parts[2] ?? 0);
  const from = count >= 6 ? 3 : 2;
  return parts[1] === 2 ? colourOf(parts[from] ?? 0, parts[from + 1] ?? 0, parts[from + 2] ?? 0) : null;
}

function applyCode(style: AnsiStyle, code: number): AnsiStyle {
  switch (code) {
    case 0:
      return PLAIN;
    case 1:
      return { ...style, bold: true };
    case 2:
      return { ...style, dim: true };
    case 3:
      return { ...style, italic: true };
    case 4:
    case 21:
      return { ...style, underline: true };
    case 7:
      return { ...style, inverse: true };
    case 8:
      return { ...style, conceal: true };
    case 9:
      return { ...style, strike: true };
    case 22:
      return { ...style, bold: false, dim: false };
    case 23:
      return { ...style, italic: false };
    case 24:
      return { ...style, underline: false };
    case 27:
      return { ...style, inverse: false };
    case 28:
      return { ...style, conceal: false };
    case 29:
      return { ...style, strike: false };
    case 39:
      return { ...style, colour: null };
    case 49:
      return { ...style, background: null };
    default:
      if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97))
        return { ...style, colour: BASE[code % 10] ?? null };
      if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107))
        return { ...style, background: BASE[code % 10] ?? null };
      return style;
  }
}

/** Applies the parameters of `ESC [ … m`. */
export function applySgr(before: AnsiStyle, parameters: string): AnsiStyle {
  if (parameters === "" || parameters === "0") return PLAIN;
  let style = before;
  const parts = parameters.split(";");
  const codes = parts.map((part) => Number.parseInt(part, 10) || 0);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    const part = parts[at] ?? "";
    if (part.includes(":")) {
      const inner = part.split(":").map((each) => Number.parseInt(each, 10) || 0);
      if (code === 4) style = { ...style, underline: inner[1] !== 0 };
      else if (code === 38) style = { ...style, colour: colonColour(inner, inner.length) };
      else if (code === 48) style = { ...style, background: colonColour(inner, inner.length) };
    } else if (code === 38 || code === 48) {
      const { colour, taken } = extendedColour(codes, at);
      style = code === 38 ? { ...style, colour } : { ...style, background: colour };
      at += taken;
    } else if (code === 58) at += extendedColour(codes, at).taken;
    else style = applyCode(style, code);
  }
  return style;
}

/** ESC [ or its single character, parameters, something in between, and the letter that says what it is about. */
const SEQUENCE = "(?:\\u001b\\[|\\u009b)([0-?]{0,64})([ -/]{0,4})([@-~])";
/**
 * What begins a string (a title, a link, a program's own message) ends at its terminator; without one only its
 * beginning counts, so that nothing after it can be swallowed.
 */
const STRING =
  "(?:\\u001b[\\]P^_X]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007\\u001b\\u009c]{0,4096}(?:\\u0007|\\u001b\\\\|\\u009c)";
const SHORT = "\\u001b[ -/]{0,4}[0-~]";
const LONE = "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]";
const CONTROL = new RegExp(`${SEQUENCE}|${STRING}|${SHORT}|${LONE}`, "g");
const HAS_CONTROL = new RegExp(LONE);
const EACH_CONTROL = new RegExp(LONE, "g");

/** `^[` for escape, `^G` for the bell, `M-^[` for the controls above 127: as `cat -v` writes them. */
export function caret(text: string): string {
  return text.replace(EACH_CONTROL, (character) => {
    const code = character.charCodeAt(0);
    if (code === 0x7f) return "^?";
    return code < 0x20 ? `^${String.fromCharCode(code + 64)}` : `M-^${String.fromCharCode(code - 64)}`;
  });
}

const WOULD: Record<string, string> = {
  A: "move the cursor up",
  B: "move the cursor down",
  C: "move the cursor right",
  D: "move the cursor left",
  E: "move the cursor to a line below",
  F: "move the cursor to a line above",
  G: "move the cursor in the line",
  H: "move the cursor",
  J: "erase the screen",
  K: "erase the line",
  L: "insert lines",
  M: "delete lines",
  P: "delete characters",
  S: "scroll up",
  T: "scroll down",
  X: "erase characters",
  c: "ask the terminal what it is",
  d: "move the cursor to a line",
  f: "move the cursor",
  h: "switch a mode on",
  l: "switch a mode off",
  n: "ask the terminal for a report",
  r: "set the scrolling region",
  s: "save the cursor",
  t: "move or ask the window",
  u: "restore the cursor",
};

function meaningOf(sequence: string, final: string | undefined): string {
  if (final) return WOULD[final] ?? "control the terminal";
  const second = sequence[0] === "\u001b" ? sequence[1] : undefined;
  if (second === "]" || sequence[0] === "\u009d")
    return /^.{1,2}8;/.test(sequence) ? "make a link" : "set the title or the like";
  if (second && "P^_X".includes(second)) return "send the terminal a message of its own";
  if (second === "c") return "reset the terminal";
  if (sequence === "\u0007") return "ring the bell";
  if (sequence === "\b") return "move the cursor back";
  return "control the terminal";
}

/** Selecting the character set that is shown anyway, which `tput sgr0` prints after each colour. */
const NO_MATTER = "\u001b(B";

/** Reads one line (or any text) from a style on; gives the style at its end. */
export function parseAnsi(text: string, from: AnsiStyle = PLAIN): { pieces: AnsiPiece[]; style: AnsiStyle } {
  if (!HAS_CONTROL.test(text)) return { pieces: text === "" ? [] : [{ text, style: from }], style: from };
  const pieces: AnsiPiece[] = [];
  let style = from;
  let at = 0;
  const push = (raw: string) => {
    if (raw === "") return;
    const last = pieces.at(-1);
    if (last && !last.control && last.style === style) last.text += raw;
    else pieces.push({ text: raw, style });
  };
  for (const match of text.matchAll(CONTROL)) {
    const [sequence, parameters = "", between = "", final] = match;
    push(text.slice(at, match.index));
    at = match.index + sequence.length;
    if (final === "m" && between === "" && !/[<-?]/.test(parameters)) style = applySgr(style, parameters);
    // Erasing to the right at the end of a line erases nothing.
    else if (final === "K" && /^0?$/.test(parameters) && at === text.length) continue;
    else if (sequence !== NO_MATTER)
      pieces.push({ text: caret(sequence), style: PLAIN, control: meaningOf(sequence, final) });
  }
  push(text.slice(at));
  return { pieces, style };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const SGR = /(?:\u001b\[|\u009b)([0-9;:]{0,64})m/g;

/** Only the style at the end of a line: quick, for the many lines that aren't on the screen. */
export function styleAfter(line: string, from: AnsiStyle): AnsiStyle {
  if (!line.includes("\u001b[") && !line.includes("\u009b")) return from;
  // What was before the last reset makes no difference.
  const reset = Math.max(line.lastIndexOf("\u001b[0m"), line.lastIndexOf("\u001b[m"));
  let style = reset >= 0 ? PLAIN : from;
  SGR.lastIndex = Math.max(0, reset);
  for (let match = SGR.exec(line); match; match = SGR.exec(line)) style = applySgr(style, match[1] ?? "");
  return style;
}
