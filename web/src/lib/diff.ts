/** Reads unified diffs, as `diff -u`, git and `write_file` print them. Anything else in them is kept as a note. Pure. */

export type DiffRow =
  | { kind: "file"; text: string }
  | { kind: "hunk"; text: string }
  | { kind: "added"; text: string; after: number }
  | { kind: "removed"; text: string; before: number }
  | { kind: "same"; text: string; before: number; after: number }
  | { kind: "note"; text: string };

export interface Diff {
  rows: DiffRow[];
  files: number;
  added: number;
  removed: number;
  /** Indices of the rows that begin a hunk. */
  hunks: number[];
}

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;
const FILE = /^(diff --git |Index: |Only in |Binary files )/;
/** Where a diff is looked for: at the beginning, behind a few lines of a program's own at most. */
const LOOK_AT = 4_000;

export function looksLikeDiff(text: string): boolean {
  const start = text.slice(0, LOOK_AT);
  return /^(?:.*\n){0,12}?(?:diff --git a|--- [^\n]+\n\+\+\+ [^\n]+\n@@ -)/.test(start) || HUNK.test(start);
}

export function parseDiff(text: string): Diff {
  const rows: DiffRow[] = [];
  const hunks: number[] = [];
  let files = 0;
  let added = 0;
  let removed = 0;
  /** Lines that the hunk still has to come, on each side: only its own numbers tell where it ends. */
  let left = 0;
  let right = 0;
  let before = 0;
  let after = 0;
  let named = false;
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const [index, line] of lines.entries()) {
    const first = line[0] ?? " ";
    if (left > 0 || right > 0) {
      const rest = line.slice(1);
      if (first === "+" && right > 0) {
        rows.push({ kind: "added", text: rest, after });
        after += 1;
        right -= 1;
        added += 1;
        continue;
      }
      if (first === "-" && left > 0) {
        rows.push({ kind: "removed", text: rest, before });
        before += 1;
        left -= 1;
        removed += 1;
        continue;
      }
      // Mailers and editors eat the space of an empty line.
      if ((first === " " || line === "\r") && left > 0 && right > 0) {
        rows.push({ kind: "same", text: rest, before, after });
        before += 1;
        after += 1;
        left -= 1;
        right -= 1;
        continue;
      }
      if (first === "\\") {
        rows.push({ kind: "note", text: line.slice(2) });
        continue;
      }
      // The hunk is shorter than it said.
      left = 0;
      right = 0;
    }
    const hunk = HUNK.exec(line);
    if (hunk) {
      before = Number(hunk[1]);
      left = Number(hunk[2] ?? 1);
      after = Number(hunk[3]);
      right = Number(hunk[4] ?? 1);
      hunks.push(rows.length);
      rows.push({ kind: "hunk", text: line });
      named = false;
    } else if (FILE.test(line)) {
      const begins = line.startsWith("diff --git ") || line.startsWith("Index: ");
      if (begins || !named) files += 1;
      named = begins;
      rows.push({ kind: "file", text: line });
    } else if (line.startsWith("--- ") && lines[index + 1]?.startsWith("+++ ")) {
      if (!named) files += 1;
      rows.push({ kind: "file", text: line });
    } else if (line.startsWith("+++ ") && lines[index - 1]?.startsWith("--- ")) {
      rows.push({ kind: "file", text: line });
      named = false;
    } else if (first === "\\") rows.push({ kind: "note", text: line.slice(2) });
    else rows.push({ kind: "note", text: line });
  }
  return { rows, files: Math.max(files, hunks.length > 0 ? 1 : 0), added, removed, hunks };
}
