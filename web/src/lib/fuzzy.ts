/** Ranks what a person may mean by a few letters. Higher is better; `null` if the letters aren't all there. */
export function fuzzyScore(query: string, text: string): number | null {
  const wanted = query.toLowerCase().trim();
  if (!wanted) return 0;
  const within = text.toLowerCase();
  const at = within.indexOf(wanted);
  if (at >= 0) return 1000 - at - within.length / 100 + (at === 0 || /[^a-z0-9]/.test(within[at - 1] ?? "") ? 500 : 0);
  let score = 0;
  let from = 0;
  for (const letter of wanted) {
    if (letter === " ") continue;
    const found = within.indexOf(letter, from);
    if (found < 0) return null;
    score += found === from ? 5 : /[^a-z0-9]/.test(within[found - 1] ?? " ") ? 4 : 1;
    from = found + 1;
  }
  return score - within.length / 100;
}

export function fuzzyFilter<T>(query: string, items: readonly T[], textOf: (item: T) => string): T[] {
  return items
    .map((item, index) => ({ item, index, score: fuzzyScore(query, textOf(item)) }))
    .filter((each): each is { item: T; index: number; score: number } => each.score !== null)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .map((each) => each.item);
}
