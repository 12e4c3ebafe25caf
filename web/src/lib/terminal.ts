/**
 * Output in lines as a terminal would leave them: what a progress bar overwrote is folded into its last state. Works on
 * hundreds of thousands of lines; only those on the screen are parsed.
 */
import { type AnsiPiece, type AnsiStyle, PLAIN, parseAnsi, styleAfter } from "./ansi";

/** More lines are not drawn: browsers bound how high an element may be. */
export const MAX_LINES = 500_000;
/** A longer line is cut on the screen: one of a megabyte would take seconds to lay out. */
export const MAX_LINE = 4_000;
/** Styles are remembered for each so many lines. */
const STRIDE = 256;

export interface TerminalLine {
  pieces: AnsiPiece[];
  /** States that this line went through before, each ended by a carriage return. */
  folded: number;
  /** Characters that are not drawn. */
  cut: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are what is looked for
const ERASE_AT_START = /^(?:\u001b\[[012]?K)+/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const ERASE_AT_END = /(?:\u001b\[[012]?K)+$/;

function statesOf(line: string): string[] {
  return line
    .split("\r")
    .map((state) => state.replace(ERASE_AT_START, "").replace(ERASE_AT_END, ""))
    .filter((state) => state !== "");
}

export class TerminalText {
  /** Lines as they came, without their ends; states of their own when unfolded. */
  readonly lines: readonly string[];
  /** Lines that have folded states. */
  readonly foldable: number;
  /** Lines that are not drawn. */
  readonly beyond: number;
  readonly #unfold: boolean;
  #starts: AnsiStyle[] = [PLAIN];
  readonly #styled: boolean;

  constructor(text: string, unfold = false) {
    let lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    this.#unfold = unfold;
    this.#styled = text.includes("\u001b") || text.includes("\u009b");
    let foldable = 0;
    if (text.includes("\r")) {
      lines = lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
      const flat: string[] = [];
      for (const line of lines) {
        if (!line.includes("\r")) flat.push(line);
        else {
          const states = statesOf(line);
          if (states.length > 1) foldable += 1;
          if (unfold) for (const state of states) flat.push(state);
          else flat.push(line);
        }
      }
      lines = flat;
    }
    this.foldable = foldable;
    this.beyond = Math.max(0, lines.length - MAX_LINES);
    this.lines = this.beyond > 0 ? lines.slice(0, MAX_LINES) : lines;
  }

  get count(): number {
    return this.lines.length;
  }

  /** The style with which a line begins. Looks at the lines before it once. */
  #styleAt(index: number): AnsiStyle {
    if (!this.#styled) return PLAIN;
    const wanted = Math.floor(index / STRIDE);
    while (this.#starts.length <= wanted) this.#look();
    let style = this.#starts[wanted] ?? PLAIN;
    for (let at = wanted * STRIDE; at < index; at += 1) style = styleAfter(this.lines[at] ?? "", style);
    return style;
  }

  #look(): void {
    const from = (this.#starts.length - 1) * STRIDE;
    let style = this.#starts.at(-1) ?? PLAIN;
    for (let at = from; at < from + STRIDE; at += 1) style = styleAfter(this.lines[at] ?? "", style);
    this.#starts.push(style);
  }

  /** Looks further ahead until `isOver`; `true` when nothing is left. For quiet moments. */
  lookAhead(isOver: () => boolean): boolean {
    if (!this.#styled) return true;
    while (this.#starts.length * STRIDE < this.lines.length) {
      if (isOver()) return false;
      this.#look();
    }
    return true;
  }

  line(index: number): TerminalLine {
    const raw = this.lines[index] ?? "";
    const states = !this.#unfold && raw.includes("\r") ? statesOf(raw) : null;
    const whole = states ? (states.at(-1) ?? "") : raw;
    const shown = whole.length > MAX_LINE ? whole.slice(0, MAX_LINE) : whole;
    let style = this.#styleAt(index);
    for (const state of states?.slice(0, -1) ?? []) style = styleAfter(state, style);
    return {
      pieces: parseAnsi(shown, style).pieces,
      folded: states ? Math.max(0, states.length - 1) : 0,
      cut: whole.length - shown.length,
    };
  }

  /** Lines with a text in them, by index. Capital letters matter when the text has some. */
  find(query: string, most = 10_000): number[] {
    if (query === "") return [];
    const exact = query !== query.toLowerCase();
    const found: number[] = [];
    for (const [index, line] of this.lines.entries()) {
      if ((exact ? line : line.toLowerCase()).includes(query)) found.push(index);
      if (found.length >= most) break;
    }
    return found;
  }
}
