/** Searches a tree in slices between frames, so that a large one doesn't hold up typing. */
import { useEffect, useState } from "react";
import type { Json } from "../../api/types";
import { searchTree } from "./tree";

const SLICE_MS = 6;
const MOST = 1_000;

export interface TreeSearch {
  /** Pointers of the matches, in order. */
  found: readonly string[];
  /** Nothing is left to look at. */
  complete: boolean;
}

const nothing: TreeSearch = { found: [], complete: true };

export function useTreeSearch(value: Json, query: string): TreeSearch {
  const [search, setSearch] = useState(nothing);
  useEffect(() => {
    if (query === "") {
      setSearch(nothing);
      return;
    }
    const walk = searchTree(value, query);
    const found: string[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const until = performance.now() + SLICE_MS;
      let complete = false;
      while (performance.now() < until && found.length < MOST) {
        const next = walk.next();
        if (next.done) {
          complete = true;
          break;
        }
        if (next.value !== null) found.push(next.value);
      }
      setSearch({ found: [...found], complete });
      if (!complete && found.length < MOST) timer = setTimeout(look);
    };
    timer = setTimeout(look, 120);
    return () => clearTimeout(timer);
  }, [value, query]);
  return search;
}
