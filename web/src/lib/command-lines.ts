/** The same call in other places: a chat's slash command, `curl` and the command line. */
import type { Json, RunCall } from "../api/types";

const BARE = /^[A-Za-z0-9_./:@%+,=~-]+$/;

/**
 * A value as it stands after `key=` in a slash command. The manager splits words as a shell does and reads each value
 * as its parameter's schema wants it, so a text needs quotes only for spaces and the like.
 */
export function slashValue(value: Json): string {
  const isPlainList =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => /^[^,"'\\\s]+$/.test(String(each)) && each !== null);
  const text = isPlainList ? value.join(",") : typeof value === "string" ? value : JSON.stringify(value);
  return BARE.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** `/probe_tcp @web-1 target=localhost:22` */
export function slashCommand(call: RunCall, hostName?: string): string {
  const words = [`/${call.tool}`];
  if (call.edge_id !== undefined) words.push(hostName ? `@${hostName}` : `edge_id=${call.edge_id}`);
  for (const [key, value] of Object.entries(call.args)) words.push(`${key}=${slashValue(value)}`);
  if (call.sop) words.push(`sop=${call.sop.id}/${call.sop.step}`);
  return words.join(" ");
}

/** Quotes for a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function cliCommand(call: RunCall): string {
  const words = ["steadyhand", "call", call.tool];
  if (call.edge_id !== undefined) words.push("--edge", String(call.edge_id));
  if (call.sop) words.push("--sop", shellQuote(`${call.sop.id}/${call.sop.step}`));
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
