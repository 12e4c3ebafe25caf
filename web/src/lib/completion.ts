/** What the composer completes at the caret: `/tool` at the start of the message, `@host` anywhere. Pure. */
export interface Completion {
  kind: "tool" | "host";
  query: string;
  /** The range that a choice replaces. */
  from: number;
  to: number;
}

export function completionAt(text: string, caret: number): Completion | null {
  const before = text.slice(0, caret);
  const tool = /^\/([a-z0-9_]*)$/i.exec(before);
  if (tool) return { kind: "tool", query: tool[1] ?? "", from: 0, to: caret };
  const host = /(?:^|[\s(,])@([\w.-]*)$/.exec(before);
  if (host) {
    const query = host[1] ?? "";
    return { kind: "host", query, from: caret - query.length - 1, to: caret };
  }
  return null;
}

export function complete(text: string, completion: Completion, choice: string): { text: string; caret: number } {
  const inserted = `${completion.kind === "tool" ? "/" : "@"}${choice} `;
  const rest = text.slice(completion.to);
  const caret = completion.from + inserted.length;
  return { text: text.slice(0, completion.from) + inserted + rest.replace(/^ /, ""), caret };
}

/** The tool of a slash command, once its name is whole. */
export function toolOf(text: string): string | null {
  return /^\/([a-z0-9_]+)\s/.exec(text)?.[1] ?? null;
}
