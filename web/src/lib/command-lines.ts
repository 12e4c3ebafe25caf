/** The same call in other places: a chat's slash command, `curl` and the command line. */
import type { Json, JsonObject, RunCall } from "../api/types";

const BARE = /^[A-Za-z0-9_./:@%+,-]+$/;
/** Words that would read back as something else than text. */
const NOT_TEXT = /^(-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null)$/;

/** A value as it stands after `key=` in a slash command. */
export function slashValue(value: Json): string {
  if (typeof value === "string") return BARE.test(value) && !NOT_TEXT.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value);
}

export function slashCommand(call: RunCall): string {
  const args: JsonObject = { ...(call.edge_id === undefined ? {} : { edge_id: call.edge_id }), ...call.args };
  return [`/${call.tool}`, ...Object.entries(args).map(([key, value]) => `${key}=${slashValue(value)}`)].join(" ");
}

/** Quotes for a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function cliCommand(call: RunCall): string {
  const words = ["steadyhand", "call", call.tool];
  if (call.edge_id !== undefined) words.push("--edge", String(call.edge_id));
  for (const [key, value] of Object.entries(call.args)) {
    words.push("--param", shellQuote(`${key}=${typeof value === "string" ? value : JSON.stringify(value)}`));
  }
  return words.join(" ");
}

export function curlCommand(call: RunCall, origin: string): string {
  return [
    `curl -sS ${shellQuote(`${origin}/api/v1/calls`)}`,
    `  -H 'authorization: Bearer '"$STEADYHAND_TOKEN"`,
    `  -H 'content-type: application/json'`,
    `  -d ${shellQuote(JSON.stringify(call))}`,
  ].join(" \\\n");
}
