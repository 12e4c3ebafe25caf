/** JSON as rows of a tree: which are shown, where each stands, which match a search. Pure. */
import type { Json } from "../../api/types";

export interface TreeRow {
  /** Where it stands, as a JSON pointer (RFC 6901). */
  pointer: string;
  /** Its name or index in what holds it; `null` for the whole. */
  name: string | null;
  value: Json;
  depth: number;
  /** How many entries it holds; `null` for a plain value. */
  entries: number | null;
  open: boolean;
}

export function isCompound(value: Json): value is Json[] | { [key: string]: Json } {
  return value !== null && typeof value === "object";
}

export function entryCount(value: Json[] | { [key: string]: Json }): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function step(name: string): string {
  return name.includes("~") || name.includes("/") ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name;
}

export function pointerTo(parent: string, name: string): string {
  return `${parent}/${step(name)}`;
}

/** The pointers of everything that holds what `pointer` names, the whole first. */
export function holdersOf(pointer: string): string[] {
  const holders: string[] = [];
  for (let end = pointer.lastIndexOf("/"); end >= 0; end = pointer.lastIndexOf("/", end - 1)) {
    holders.unshift(pointer.slice(0, end));
    if (end === 0) break;
  }
  return holders;
}

/** Larger ones begin folded, unless they are the whole. */
const UNFOLDED_ENTRIES = 1_000;

export function opensItself(value: Json, depth: number, openDepth: number): boolean {
  return isCompound(value) && depth < openDepth && (depth === 0 || entryCount(value) <= UNFOLDED_ENTRIES);
}

/** The rows to show. `folds` holds what somebody opened (`true`) or closed, by pointer. */
export function rowsOf(value: Json, openDepth: number, folds: ReadonlyMap<string, boolean>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (name: string | null, each: Json, pointer: string, depth: number) => {
    if (!isCompound(each)) {
      rows.push({ pointer, name, value: each, depth, entries: null, open: false });
      return;
    }
    const entries = entryCount(each);
    const open = entries > 0 && (folds.get(pointer) ?? opensItself(each, depth, openDepth));
    rows.push({ pointer, name, value: each, depth, entries, open });
    if (!open) return;
    if (Array.isArray(each)) {
      for (let at = 0; at < each.length; at += 1) add(String(at), each[at] as Json, `${pointer}/${at}`, depth + 1);
    } else {
      for (const key of Object.keys(each)) add(key, each[key] as Json, pointerTo(pointer, key), depth + 1);
    }
  };
  add(null, value, "", 0);
  return rows;
}

const BETWEEN_PAUSES = 500;

/** Pointers of what has the text in its name or plain value. Yields `null` now and then, for a pause. */
export function* searchTree(value: Json, query: string): Generator<string | null> {
  const wanted = query.toLowerCase();
  if (wanted === "") return;
  const fits = (text: string) => text.toLowerCase().includes(wanted);
  let looked = 0;
  const stack: Iterator<[string, Json]>[] = [[["", value] as [string, Json]].values()];
  const pointers: string[] = [];
  let first = true;
  while (stack.length > 0) {
    const next = stack.at(-1)?.next();
    if (!next || next.done) {
      stack.pop();
      pointers.pop();
      continue;
    }
    const [name, each] = next.value;
    const pointer = first ? "" : pointerTo(pointers.at(-1) ?? "", name);
    looked += 1;
    if (looked % BETWEEN_PAUSES === 0) yield null;
    if ((!first && fits(name)) || (!isCompound(each) && fits(String(each)))) yield pointer;
    first = false;
    if (!isCompound(each)) continue;
    pointers.push(pointer);
    stack.push(entriesOf(each));
  }
}

function* entriesOf(value: Json[] | { [key: string]: Json }): Generator<[string, Json]> {
  if (Array.isArray(value)) for (let at = 0; at < value.length; at += 1) yield [String(at), value[at] as Json];
  else for (const key of Object.keys(value)) yield [key, value[key] as Json];
}
