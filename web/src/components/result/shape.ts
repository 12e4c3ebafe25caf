/** Decides how a piece of a result is drawn, from its shape and its names. Pure. */
import type { Json, JsonObject } from "../../api/types";
import { looksLikeDiff } from "../../lib/diff";
import { formatBytes, formatDuration, formatNumber, formatSeconds, formatUtc } from "../../lib/format";
import { mayBePicture, type Picture, readPicture } from "../../lib/image";
import { type SeriesData, seriesOf } from "./series";

export type Shape =
  | { kind: "value" }
  | { kind: "text"; text: string }
  | { kind: "diff"; text: string }
  | { kind: "picture"; picture: Picture }
  | { kind: "series"; data: SeriesData }
  | { kind: "table"; columns: string[]; rows: JsonObject[] }
  | { kind: "fields"; small: [string, Json][]; large: [string, Json][] }
  | { kind: "list"; items: Json[] };

export function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function isScalar(value: Json | undefined): boolean {
  return value === undefined || value === null || typeof value !== "object";
}

const LONG_TEXT = 120;

/** A value that fits on one line beside its name. */
export function isSmall(value: Json): boolean {
  if (typeof value === "string") return !value.includes("\n") && value.length <= LONG_TEXT;
  if (Array.isArray(value))
    return value.length <= 32 && value.every((each) => isScalar(each) && String(each).length <= 24);
  return isScalar(value);
}

/** A few words like labels: they fit into a table's cell. */
function isSmallObject(value: Json): boolean {
  return isObject(value) && Object.entries(value).length <= 8 && Object.values(value).every((each) => isScalar(each));
}

const MAX_COLUMNS = 24;
/** Of a longer list, so many entries tell what it is: looking at each would hold up the first paint. */
const SAMPLE = 500;

function sampleOf<T>(list: readonly T[]): readonly T[] {
  if (list.length <= SAMPLE * 2) return list;
  const step = Math.floor(list.length / SAMPLE);
  return list.filter((_, index) => index % step === 0);
}

const DIFF_KEYS = /(^|_)(diff|patch)$/;
/** Where pictures stand in what servers of tools answer: `{type: "image", data, mimeType}` and the like. */
const PICTURE_KEYS = ["data", "base64", "image", "content", "blob"];

function pictureIn(value: JsonObject): Picture | null {
  // Its other fields are about the picture; where there are more, it is one field among others.
  if (Object.keys(value).length > 4) return null;
  for (const key of PICTURE_KEYS) {
    const each = value[key];
    const picture = typeof each === "string" && mayBePicture(each) ? readPicture(each) : null;
    if (picture) return picture;
  }
  return null;
}

function shapeOfText(text: string, name: string): Shape {
  const picture = mayBePicture(text) ? readPicture(text) : null;
  if (picture) return { kind: "picture", picture };
  if (looksLikeDiff(text) || (DIFF_KEYS.test(name) && /^[-+@]/m.test(text))) return { kind: "diff", text };
  return { kind: "text", text };
}
/** Lists that are text, however short their lines. */
const TEXT_LISTS = /^(lines|stdout|stderr|output|diff)$/;

export function shapeOf(value: Json, name = ""): Shape {
  if (typeof value === "string" && !isSmall(value)) return shapeOfText(value, name);
  if (Array.isArray(value)) {
    const sample = sampleOf(value);
    const data = seriesOf(value);
    if (data) return { kind: "series", data };
    if (value.length > 0 && value.every(isObject)) {
      const columns = columnsOf(sample as JsonObject[]);
      const flat = (sample as JsonObject[]).every((row) =>
        Object.values(row).every((each) => isSmall(each) || typeof each === "string" || isSmallObject(each)),
      );
      if (flat && columns.length <= MAX_COLUMNS) return { kind: "table", columns, rows: value };
    }
    const isText = TEXT_LISTS.test(name) || !isSmall(value);
    if (value.length > 0 && value.every((each) => typeof each === "string") && isText) {
      return shapeOfText(value.join("\n"), name);
    }
    return isSmall(value) ? { kind: "value" } : { kind: "list", items: value };
  }
  if (isObject(value)) {
    const picture = pictureIn(value);
    if (picture) return { kind: "picture", picture };
    const entries = Object.entries(value).filter(([, each]) => each !== null);
    return {
      kind: "fields",
      small: entries.filter(([key, each]) => isSmall(each) && !isTextList(key, each)),
      large: entries.filter(([key, each]) => !isSmall(each) || isTextList(key, each)),
    };
  }
  return { kind: "value" };
}

function isTextList(key: string, value: Json): boolean {
  return TEXT_LISTS.test(key) && Array.isArray(value) && value.length > 0;
}

function columnsOf(rows: JsonObject[]): string[] {
  const columns = new Set<string>();
  for (const row of rows) for (const key of Object.keys(row)) columns.add(key);
  // A column in which no row says anything only takes room.
  return [...columns].filter((key) => rows.some((row) => row[key] !== null && row[key] !== undefined));
}

const BYTE_PARENTS = /^(memory|swap|filesystems?|disks?|size)$/;
const BYTE_KEYS = /^(total|used|available|free|cache|size|buffers|shared)$/;

function isBytes(key: string, parent: string): boolean {
  return /(^|_)bytes$/.test(key) || key === "size" || (BYTE_PARENTS.test(parent) && BYTE_KEYS.test(key));
}

/** A value in words, by the unit that its name ends in; `exact` is what it stands for. */
export function formatValue(
  key: string,
  value: Json | undefined,
  parent = "",
): { text: string; exact?: string; numeric: boolean } {
  if (value === undefined || value === null) return { text: "–", numeric: false };
  if (typeof value === "boolean") return { text: value ? "yes" : "no", numeric: false };
  if (typeof value === "number") {
    const exact = String(value);
    if (/bytes_per_second$/.test(key))
      return { text: `${formatBytes(value)}/s`, exact: `${exact} bytes/s`, numeric: true };
    if (/per_second$/.test(key)) return { text: `${formatNumber(value)}/s`, exact, numeric: true };
    if (isBytes(key, parent)) return { text: formatBytes(value), exact: `${exact} bytes`, numeric: true };
    if (/(_percent|^percent|_pct|^(some|full)_\d+s)$/.test(key))
      return { text: `${formatNumber(Math.round(value * 10) / 10)} %`, exact, numeric: true };
    if (/(_ms|_millis)$/.test(key))
      return {
        text: value < 10 && value > 0 ? `${formatNumber(value)} ms` : formatDuration(value),
        exact: `${exact} ms`,
        numeric: true,
      };
    if (/(_seconds|_secs)$/.test(key)) return { text: formatSeconds(value), exact: `${exact} s`, numeric: true };
    // Ports, process ids and the like are names, not amounts.
    if (/(^|_)(port|pid|ppid|uid|gid|id|inode|code|status|start_time)$/.test(key))
      return { text: exact, numeric: true };
    return { text: formatNumber(value), exact, numeric: true };
  }
  if (Array.isArray(value)) {
    const parts = value.map((each) => formatValue(key, each).text);
    return { text: parts.length === 0 ? "–" : parts.join(", "), numeric: false };
  }
  if (typeof value === "string") {
    if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(value) && !Number.isNaN(Date.parse(value))) {
      return {
        text: new Date(value).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }),
        exact: formatUtc(value),
        numeric: false,
      };
    }
    return { text: value === "" ? "–" : value, numeric: false };
  }
  const pairs = Object.entries(value ?? {}).map(([name, each]) => `${name}=${String(each)}`);
  return { text: pairs.join(", ") || "–", numeric: false };
}

const ABBREVIATIONS: Record<string, string> = Object.fromEntries(
  [
    "CPU",
    "PSI",
    "IO",
    "TCP",
    "UDP",
    "DNS",
    "HTTP",
    "TLS",
    "TTL",
    "IP",
    "PID",
    "UID",
    "GID",
    "URL",
    "OS",
    "RSS",
    "ID",
  ].map((word) => [word.toLowerCase(), word]),
);

/** The label without the unit that the value already shows. */
export function labelOf(key: string): string {
  const bare = key.replace(
    /_(bytes_per_second|per_second|bytes|ms|millis|seconds|secs|percent|pct)$/,
    (_, unit: string) => (/^p(ct|ercent)/.test(unit) ? "_%" : ""),
  );
  const words = (bare || key)
    .split("_")
    .filter(Boolean)
    .map((word) => ABBREVIATIONS[word.toLowerCase()] ?? word)
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a call was asked, in a few words: `nginx.service, since 1h`. */
export function gistOf(args: Json): string {
  if (!isObject(args)) return "";
  return Object.entries(args)
    .filter(([key, value]) => value !== null && key !== "edge_id" && key !== "edge_ids")
    .map(([key, value], index) => {
      const text = Array.isArray(value)
        ? value.map((each) => (isScalar(each) ? String(each) : "…")).join(",")
        : isObject(value)
          ? "{…}"
          : String(value);
      // The first text says what it is about without its name.
      return index === 0 && typeof value === "string" ? text : `${key}=${text}`;
    })
    .join("  ");
}
