/**
 * Splits Markdown at blank lines outside of fences, so that streaming re-parses only the last block. Joined, the
 * blocks give the text again. Lists and their continuation stay together, as do tables, which hold no blank line.
 */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let current = "";
  let fence: string | null = null;
  let blankBefore = false;
  for (const line of text.split(/(?<=\n)/)) {
    const marker = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
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
  return blocks;
}

const LIST_ITEM = /^ {0,3}([-*+]|\d{1,9}[.)])\s/;

function continues(block: string, line: string): boolean {
  return /^\s{2,}\S/.test(line) || (LIST_ITEM.test(line) && LIST_ITEM.test(block));
}
