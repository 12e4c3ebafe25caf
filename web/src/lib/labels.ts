/** Labels as people write them: `role=db, site=fra`. */
export function parseLabels(text: string): { labels: Record<string, string>; problem: string | null } {
  const labels: Record<string, string> = {};
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const [key = "", ...rest] = word.split("=");
    const value = rest.join("=");
    if (!/^[a-z0-9]([a-z0-9_./-]{0,62})$/i.test(key) || rest.length === 0) {
      return { labels, problem: `“${word}” is not of the form name=value` };
    }
    labels[key] = value;
  }
  return { labels, problem: null };
}

export function formatLabels(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}
