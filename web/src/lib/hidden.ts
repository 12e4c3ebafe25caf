/**
 * Characters that don't show, or that change the order in which others do. Whoever wrote a text on a host, in a page or
 * as a model must not decide what a reader overlooks: each is named where it stands.
 */

/** A part of a text: as it is, or the name of what wouldn't show. */
export interface ShownPiece {
  text: string;
  hidden: boolean;
  /** What the mark is about, in words. */
  title?: string;
}

/**
 * Controls, bidirectional marks and overrides, joiners and other characters without width, fillers that look like
 * spaces, variation selectors, tags (a whole alphabet that no font draws), halves of surrogate pairs.
 */
const CLASS =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\ud800-\\udfff";
const ONE = new RegExp(`^[${CLASS}]$`, "u");
const ANY = new RegExp(`[${CLASS}]`, "u");
const RUNS = new RegExp(`[${CLASS}]+`, "gu");

export function isHiddenCharacter(character: string): boolean {
  return ONE.test(character);
}

/** `U+202E` */
export function nameOfCharacter(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Whether a text has anything that `shownPieces` would mark or look at twice. */
export function mayHide(text: string): boolean {
  return ANY.test(text);
}

const PICTURE_BEFORE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?$/u;
const PICTURE_AFTER = /^\p{Extended_Pictographic}/u;
const EMOJI_BEFORE = /\p{Emoji}$/u;
/** Scripts that write with joiners. */
const JOINING = [
  "Arabic",
  "Syriac",
  "Mongolian",
  "Nko",
  "Devanagari",
  "Bengali",
  "Gurmukhi",
  "Gujarati",
  "Oriya",
  "Tamil",
  "Telugu",
  "Kannada",
  "Malayalam",
  "Sinhala",
  "Khmer",
  "Myanmar",
]
  .map((script) => `\\p{Script=${script}}`)
  .join("");
const JOINING_BEFORE = new RegExp(`[${JOINING}]$`, "u");
const JOINING_AFTER = new RegExp(`^[${JOINING}]`, "u");

/** Whether a hidden character belongs where it is: it makes one picture of two, or joins letters of such a script. */
function belongs(character: string, before: string, after: string): boolean {
  if (character === "\r") return after.startsWith("\n");
  if (character === "\ufe0f" || character === "\ufe0e") return EMOJI_BEFORE.test(before);
  if (character === "\u200d" && PICTURE_BEFORE.test(before) && PICTURE_AFTER.test(after)) return true;
  if (character === "\u200d" || character === "\u200c") return JOINING_BEFORE.test(before) && JOINING_AFTER.test(after);
  return false;
}

const TITLE = "A character that doesn't show, or changes the order of what does";
const SEPARATE_UP_TO = 3;
const NAMED_IN_TITLE = 24;

/** What letters written in tags say: `\u{e0041}` is an A that nobody sees and a model reads. */
function tagText(run: readonly string[]): string {
  return run
    .map((each) => (each.codePointAt(0) ?? 0) - 0xe0000)
    .filter((code) => code >= 0x20 && code < 0x7f)
    .map((code) => String.fromCharCode(code))
    .join("");
}

function marksOf(run: readonly string[]): ShownPiece[] {
  if (run.length <= SEPARATE_UP_TO) {
    return run.map((each) => ({ text: nameOfCharacter(each), hidden: true, title: TITLE }));
  }
  const said = tagText(run);
  const names = run.slice(0, NAMED_IN_TITLE).map(nameOfCharacter).join(" ");
  const title = `${TITLE}: ${names}${run.length > NAMED_IN_TITLE ? " …" : ""}`;
  if (said.length > run.length / 2) return [{ text: `hidden text: “${said}”`, hidden: true, title }];
  const same = run.every((each) => each === run[0]);
  const text = same ? `${nameOfCharacter(run[0] ?? "")} × ${run.length}` : `${run.length} hidden characters`;
  return [{ text, hidden: true, title }];
}

/** A text in pieces, with a mark for what wouldn't show. */
export function shownPieces(text: string): ShownPiece[] {
  if (!ANY.test(text)) return text === "" ? [] : [{ text, hidden: false }];
  const pieces: ShownPiece[] = [];
  let plain = "";
  let from = 0;
  const mark = (run: string[]) => {
    if (run.length === 0) return;
    if (plain !== "") pieces.push({ text: plain, hidden: false });
    plain = "";
    pieces.push(...marksOf(run));
  };
  for (const match of text.matchAll(RUNS)) {
    plain += text.slice(from, match.index);
    from = match.index + match[0].length;
    let run: string[] = [];
    let at = match.index;
    for (const character of match[0]) {
      const end = at + character.length;
      if (belongs(character, text.slice(Math.max(0, at - 3), at), text.slice(end, end + 2))) {
        mark(run);
        run = [];
        plain += character;
      } else run.push(character);
      at = end;
    }
    mark(run);
  }
  plain += text.slice(from);
  if (plain !== "") pieces.push({ text: plain, hidden: false });
  return pieces;
}

/** The same as one text, for where nothing but text fits: titles, names, files. */
export function shownText(text: string): string {
  if (!ANY.test(text)) return text;
  return shownPieces(text)
    .map((piece) => (piece.hidden ? `⟨${piece.text}⟩` : piece.text))
    .join("");
}
