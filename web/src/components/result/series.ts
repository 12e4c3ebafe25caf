/** Finds series over time in results and prepares them for drawing. Pure. */
import type { Json, JsonObject } from "../../api/types";

export interface Series {
  name: string;
  /** One for each time; `null` where there is none. */
  values: (number | null)[];
}

export interface SeriesData {
  /** Milliseconds since the epoch, rising. */
  times: number[];
  series: Series[];
}

const TIME_KEY = /(^|_)(time|timestamp|ts|at|date)$/i;
const MIN_POINTS = 4;
const SAMPLE = 200;
/** Numbers below are no time of this century in seconds: 2001 to 2286, as seconds or as milliseconds. */
const EPOCH_S = 1e9;
const EPOCH_MS = 1e12;

function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** A point in time out of what results write it as: RFC 3339, or seconds or milliseconds since the epoch. */
export function timeOf(value: Json | undefined): number | null {
  if (typeof value === "string") {
    if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(value)) return null;
    const at = Date.parse(value);
    return Number.isNaN(at) ? null : at;
  }
  if (typeof value !== "number" || value < EPOCH_S || value >= 1e14) return null;
  return value >= EPOCH_MS ? value : value * 1000;
}

function numberOf(value: Json | undefined): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "string" || !/^[-+]?(\d|\.\d)/.test(value)) return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** The series in a list, or `null` when it is another kind of list. */
export function seriesOf(value: Json): SeriesData | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  return matrix(value) ?? pairs(value) ?? rows(value);
}

/** `[{metric: {…}, values: [[seconds, "1.5"], …]}, …]`, as Prometheus answers a range. */
function matrix(list: Json[]): SeriesData | null {
  if (!list.every((each) => isObject(each) && isObject(each.metric) && Array.isArray(each.values))) return null;
  const found = (list as { metric: JsonObject; values: Json[] }[]).map(({ metric, values }) => ({
    name: nameOf(metric),
    points: new Map(
      values.flatMap((pair) => {
        const at = Array.isArray(pair) ? timeOf(pair[0]) : null;
        return at === null ? [] : [[at, numberOf((pair as Json[])[1])] as const];
      }),
    ),
  }));
  const times = [...new Set(found.flatMap((each) => [...each.points.keys()]))].sort((a, b) => a - b);
  if (times.length < 2) return null;
  return {
    times,
    series: found.map(({ name, points }) => ({ name, values: times.map((at) => points.get(at) ?? null) })),
  };
}

function nameOf(metric: JsonObject): string {
  const { __name__, ...labels } = metric;
  const pairs = Object.entries(labels).map(([key, each]) => `${key}=${String(each)}`);
  const name = typeof __name__ === "string" ? __name__ : "";
  return pairs.length > 0 ? `${name}{${pairs.join(", ")}}` : name || "value";
}

/** `[[time, number], …]` */
function pairs(list: Json[]): SeriesData | null {
  if (list.length < MIN_POINTS) return null;
  const points: [number, number | null][] = [];
  for (const each of list) {
    if (!Array.isArray(each) || each.length !== 2) return null;
    const at = timeOf(each[0]);
    const value = numberOf(each[1]);
    if (at === null || (value === null && each[1] !== null)) return null;
    points.push([at, value]);
  }
  return ordered(
    points.map(([at]) => at),
    [{ name: "value", values: points.map(([, value]) => value) }],
  );
}

/** Rows with a time and nothing but numbers beside it: a journal has words, and is a table. */
function rows(list: Json[]): SeriesData | null {
  if (list.length < MIN_POINTS) return null;
  const step = Math.max(1, Math.floor(list.length / SAMPLE));
  for (let at = 0; at < list.length; at += step) if (!isObject(list[at])) return null;
  const first = list[0] as JsonObject;
  const timeKey = Object.keys(first).find((key) => TIME_KEY.test(key) && timeOf(first[key]) !== null);
  if (!timeKey) return null;
  const names = new Set<string>();
  const times: number[] = [];
  for (const row of list) {
    if (!isObject(row)) return null;
    const at = timeOf(row[timeKey]);
    if (at === null) return null;
    times.push(at);
    for (const [key, each] of Object.entries(row)) {
      if (key === timeKey || each === null) continue;
      if (typeof each !== "number") return null;
      names.add(key);
    }
  }
  if (names.size === 0) return null;
  return ordered(
    times,
    [...names].map((name) => ({ name, values: list.map((row) => numberOf((row as JsonObject)[name])) })),
  );
}

/** Rising times, turned where they fall; lists in no order are no series. */
function ordered(times: number[], series: Series[]): SeriesData | null {
  const falls = (times[0] ?? 0) > (times.at(-1) ?? 0);
  const rising = falls ? [...times].reverse() : times;
  for (let at = 1; at < rising.length; at += 1) if ((rising[at] ?? 0) <= (rising[at - 1] ?? 0)) return null;
  if (!falls) return { times: rising, series };
  return { times: rising, series: series.map(({ name, values }) => ({ name, values: [...values].reverse() })) };
}

export interface Extremes {
  min: number;
  max: number;
  last: number;
}

/** `null` for a series without a value. */
export function extremesOf(values: readonly (number | null)[]): Extremes | null {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let last: number | null = null;
  for (const value of values) {
    if (value === null) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
    last = value;
  }
  return last === null ? null : { min, max, last };
}

/** A range that holds all values and ends at round numbers, and the lines within it. */
export function scaleOf(min: number, max: number): { from: number; to: number; ticks: number[] } {
  const low = min > 0 && min < max / 2 ? 0 : min;
  const span = max - low || Math.abs(max) || 1;
  const raw = span / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * power >= raw * 0.999) ?? 10) * power;
  const from = Math.floor(low / step + 1e-9) * step;
  let to = Math.ceil(max / step - 1e-9) * step;
  if (to <= from) to = from + step;
  const count = Math.round((to - from) / step);
  return { from, to, ticks: Array.from({ length: count + 1 }, (_, index) => from + index * step) };
}

/**
 * A path over `width` × `height`, with the lowest and the highest value of each of at most `width` columns, so that no
 * spike is lost. Gaps stay gaps.
 */
export function pathOf(
  times: readonly number[],
  values: readonly (number | null)[],
  { from, to }: { from: number; to: number },
  width: number,
  height: number,
): string {
  const begin = times[0] ?? 0;
  const span = (times.at(-1) ?? 0) - begin || 1;
  const y = (value: number) => Math.round((1 - (value - from) / (to - from)) * height * 10) / 10;
  let path = "";
  let pen = false;
  let column = -1;
  let low = 0;
  let high = 0;
  let first = 0;
  let last = 0;
  const flush = () => {
    if (column < 0) return;
    // In the order in which a line through them is shortest: first, both extremes, last.
    const inner = first <= last ? [low, high] : [high, low];
    const points = [first, ...inner, last].filter((value, index, all) => index === 0 || value !== all[index - 1]);
    for (const value of points) {
      path += `${pen ? "L" : "M"}${column} ${y(value)}`;
      pen = true;
    }
    // A lone point would draw nothing.
    if (points.length === 1) path += "h0.01";
    column = -1;
  };
  for (const [index, value] of values.entries()) {
    if (value === null) {
      flush();
      pen = false;
      continue;
    }
    const x = Math.round((((times[index] ?? begin) - begin) / span) * width);
    if (x !== column) {
      flush();
      column = x;
      low = high = first = value;
    }
    low = Math.min(low, value);
    high = Math.max(high, value);
    last = value;
  }
  flush();
  return path;
}
