/** A chat as a file, made of what this browser has of it. Pure. */
import type { ChatCall, Conversation, Turn } from "../events/reducer";
import { formatDuration } from "./format";
import { shownText } from "./hidden";

interface Exported {
  id: string;
  title: string;
  conversation: Conversation;
  /** When it was saved, in RFC 3339. */
  at: string;
}

/** Everything that stands of the chat, for programs. Results too large for the chat are named by their call's id. */
export function chatAsJson({ id, title, conversation, at }: Exported): string {
  const turns = conversation.turns.map((turn) => ({ ...turn, calls: Object.values(turn.calls) }));
  return `${JSON.stringify({ format: "steadyhand.chat.v1", id, title, exported_at: at, turns }, null, 2)}\n`;
}

/** The chat to read. What wouldn't show is named, since other programs may not name it. */
export function chatAsMarkdown({ id, title, conversation, at }: Exported): string {
  const head = `# ${line(title) || "Chat"}\n\nChat ${id}, saved ${at}.\n`;
  return `${head}${conversation.turns.map(turnAsMarkdown).join("")}`;
}

function turnAsMarkdown(turn: Turn): string {
  const who = turn.user ? line(turn.user.userName) : "Nobody";
  const parts = turn.parts.map((part) => {
    if (part.kind === "text") return shownText(part.text.trim());
    if (part.kind === "notice") return `> ${line(part.text)}`;
    const call = turn.calls[part.callId];
    return call ? callAsMarkdown(call, turn) : "";
  });
  const end =
    turn.outcome && turn.outcome !== "answered"
      ? `> ${turn.outcome}${turn.reason ? `: ${line(turn.reason)}` : ""}`
      : "";
  const model = turn.model && turn.model.provider !== "command" ? `, answered by ${line(turn.model.model)}` : "";
  const said = turn.user ? quoted(shownText(turn.user.text)) : "";
  return `\n## ${who}, ${turn.startedAt}${model}\n\n${[said, ...parts, end].filter(Boolean).join("\n\n")}\n`;
}

function callAsMarkdown(call: ChatCall, turn: Turn): string {
  const where = call.edgeName ? ` on ${line(call.edgeName)}` : "";
  const time = call.durationMs === null ? "" : `, ${formatDuration(call.durationMs)}`;
  const head = `**Call \`${line(call.tool).replaceAll("`", "'")}\`**${where}: ${call.state.replaceAll("_", " ")}${time} (${call.id})`;
  const args = isEmpty(call.args) ? "" : `\n\n${fenced(JSON.stringify(call.args, null, 2), "json")}`;
  const error = call.error ? `\n\n> ${line(call.error)}` : "";
  const result =
    call.result !== undefined
      ? `\n\n${fenced(typeof call.result === "string" ? call.result : JSON.stringify(call.result, null, 2), typeof call.result === "string" ? "" : "json")}`
      : call.preview
        ? `\n\nThe beginning of the result; the whole is kept with the call:\n\n${fenced(call.preview, "")}`
        : "";
  const children = Object.values(turn.calls)
    .filter((each) => each.parentId === call.id)
    .map((each) => `\n\n${callAsMarkdown(each, turn)}`);
  return `${head}${args}${error}${result}${children.join("")}`;
}

function isEmpty(args: unknown): boolean {
  return args === null || (typeof args === "object" && Object.keys(args).length === 0);
}

/** One line, whatever it was. */
function line(text: string): string {
  return shownText(text).replace(/\s+/g, " ").trim();
}

function quoted(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((each) => `> ${each}`)
    .join("\n");
}

/** A fence that nothing in the text can end. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${shownText(text).trimEnd()}\n${fence}`;
}
