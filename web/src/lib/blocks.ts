/**
 * Splits Markdown at blank lines outside of fences, so that streaming re-parses only the last block. Joined, the
 * blocks give the text again. Lists and their continuation stay together, as do tables, which hold no blank line.
 */
export interface Split {
  /** What was split. */
  text: string;
  blocks: readonly string[];
  /** The last block is a fence that has not ended. */
  open: boolean;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

export function splitBlocks(text: string): Split {
  const blocks: string[] = [];
  let current = "";
  let fence: string | null = null;
  let blankBefore = false;
  for (const line of text.split(/(?<=\n)/)) {
    const marker = FENCE.exec(line)?.[1];
    if (fence === null && blankBefore && current.trim() !== "" && line.trim() !== "" && !continues(current, line)) {
      blocks.push(current);
      current = "";
    }
    current += line;
    if (fence === null) fence = marker ?? null;
    else if (marker?.[0] === fence[0] && marker && marker.length >= fence.length && line.trim() === marker)
      fence = null;
    blankBefore = fence === null && line.trim() === "";
  }
  if (current !== "") blocks.push(current);
  return { text, blocks, open: fence !== null };
}

/** The same for a text that grew: what was before its last block or two is neither looked at nor made again. */
export function extendSplit(before: Split | null, text: string): Split {
  if (!before || !text.startsWith(before.text)) return splitBlocks(text);
  if (text.length === before.text.length) return before;
  // A first line that has not ended may yet turn out to go on with the block before it.
  const again = before.blocks.at(-1)?.includes("\n") ? 1 : 2;
  const kept = before.blocks.slice(0, -again);
  const from = before.text.length - before.blocks.slice(-again).reduce((sum, block) => sum + block.length, 0);
  const { blocks, open } = splitBlocks(text.slice(from));
  return { text, blocks: [...kept, ...blocks], open };
}

/** A fence that is still being written, as what it will be: its language and its lines. `null` for other blocks. */
export function openFence(block: string): { language: string; code: string } | null {
  const head = /^ {0,3}(?:`{3,}|~{3,})[ \t]*([^\n`]*)\n?/.exec(block);
  if (!head) return null;
  return { language: head[1]?.trim().split(/\s/)[0] ?? "", code: block.slice(head[0].length) };
}

const LIST_ITEM = /^ {0,3}([-*+]|\d{1,9}[.)])\s/;

function continues(block: string, line: string): boolean {
  return /^\s{2,}\S/.test(line) || (LIST_ITEM.test(line) && LIST_ITEM.test(block));
}
