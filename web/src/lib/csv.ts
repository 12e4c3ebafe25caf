/** Tables as comma-separated values (RFC 4180), safe to open in a spreadsheet. Pure. */
import type { Json, JsonObject } from "../api/types";

/** What a spreadsheet would take for a formula. Host output must not run in somebody's office. */
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const inert = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

export function toCsv(columns: readonly string[], rows: readonly JsonObject[]): string {
  const lines = [columns.map((name) => cell(name)).join(",")];
  for (const row of rows) lines.push(columns.map((name) => cell(row[name])).join(","));
  return `${lines.join("\r\n")}\r\n`;
}
