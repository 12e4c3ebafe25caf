/** Small things that one browser remembers. Storage may be full or forbidden; then nothing is remembered. */
export function remember(key: string, value: string | null): void {
  try {
    if (value === null || value === "") localStorage.removeItem(`steadyhand.${key}`);
    else localStorage.setItem(`steadyhand.${key}`, value);
  } catch {
    // Nothing depends on it.
  }
}

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`steadyhand.${key}`);
  } catch {
    return null;
  }
}
