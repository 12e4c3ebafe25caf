/**
 * JSON as a tree that folds: keys as in any tree, only the rows on the screen drawn, with a search and each place as a
 * JSON pointer, which is what the `read_result` tool and the API take.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight } from "lucide-react";
import { type KeyboardEvent, memo, useCallback, useId, useMemo, useRef, useState } from "react";
import type { Json } from "../../api/types";
import { cx } from "../../lib/cx";
import { CopyButton } from "../Copy";
import { Shown } from "../Shown";
import { Find, nextMatch } from "./find";
import { holdersOf, rowsOf, type TreeRow } from "./tree";
import { useTreeSearch } from "./useTreeSearch";

const VIRTUAL_FROM = 100;
const ROW_PX = 20;
const MAX_STRING = 2_000;

interface JsonTreeProps {
  value: Json;
  /** How deep it begins unfolded. */
  depth?: number;
  /** With a search and the place of the row that is chosen. */
  tools?: boolean;
  label?: string;
}

export function JsonTree({ value, depth = 2, tools = false, label = "JSON" }: JsonTreeProps) {
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [active, setActive] = useState("");
  const rows = useMemo(() => rowsOf(value, depth, folds), [value, depth, folds]);
  const virtual = rows.length > VIRTUAL_FROM;
  const virtualizer = useVirtualizer({
    count: rows.length,
    enabled: virtual,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => rows[index]?.pointer ?? index,
    overscan: 12,
  });
  const at = Math.max(
    0,
    rows.findIndex((row) => row.pointer === active),
  );
  const here = rows[at];

  const show = (index: number) => {
    const row = rows[index];
    if (!row) return;
    setActive(row.pointer);
    if (virtual) virtualizer.scrollToIndex(index, { align: "auto" });
    else document.getElementById(`${id}-${index}`)?.scrollIntoView({ block: "nearest" });
  };
  const fold = useCallback((row: TreeRow, open: boolean) => {
    if (row.entries) setFolds((before) => new Map(before).set(row.pointer, open));
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!here || event.ctrlKey || event.metaKey || event.altKey) return;
    switch (event.key) {
      case "ArrowDown":
        show(at + 1);
        break;
      case "ArrowUp":
        show(at - 1);
        break;
      case "Home":
        show(0);
        break;
      case "End":
        show(rows.length - 1);
        break;
      case "ArrowRight":
        if (here.entries && !here.open) fold(here, true);
        else show(at + 1);
        break;
      case "ArrowLeft":
        if (here.open) fold(here, false);
        else show(rows.findIndex((row) => row.pointer === holdersOf(here.pointer).at(-1)));
        break;
      case "Enter":
      case " ":
        fold(here, !here.open);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const reveal = (pointer: string) => {
    const next = new Map(folds);
    for (const holder of holdersOf(pointer)) next.set(holder, true);
    setFolds(next);
    setActive(pointer);
    // The rows that were folded are there after this.
    requestAnimationFrame(() => {
      const index = rowsOf(value, depth, next).findIndex((row) => row.pointer === pointer);
      if (index > VIRTUAL_FROM || virtual) virtualizer.scrollToIndex(index, { align: "center" });
      else document.getElementById(`${id}-${index}`)?.scrollIntoView({ block: "nearest" });
    });
  };

  const row = (index: number) => {
    const each = rows[index];
    return each && <Row id={`${id}-${index}`} row={each} active={each === here} onFold={fold} onChoose={setActive} />;
  };
  return (
    <div className="min-w-0" data-json-tree>
      {tools && <SearchBar value={value} onFound={reveal} />}
      <div
        ref={scroller}
        role="tree"
        tabIndex={0}
        aria-label={label}
        aria-activedescendant={here ? `${id}-${at}` : undefined}
        onKeyDown={onKeyDown}
        className={cx("group/tree overflow-auto font-mono text-12 leading-5", virtual && "h-96")}
      >
        {virtual ? (
          <div role="presentation" className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
            {virtualizer.getVirtualItems().map((item) => (
              <div
                key={item.key}
                role="presentation"
                data-index={item.index}
                ref={virtualizer.measureElement}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {row(item.index)}
              </div>
            ))}
          </div>
        ) : (
          rows.map((each, index) => (
            <div key={each.pointer} role="presentation">
              {row(index)}
            </div>
          ))
        )}
      </div>
      {tools && here && (
        <div className="mt-1 flex min-w-0 items-center gap-1 border-t border-line/60 pt-1 text-12 text-muted">
          <span className="min-w-0 truncate font-mono" title="Where the chosen row stands, as a JSON pointer">
            {here.pointer === "" ? "the whole" : <Shown text={here.pointer} />}
          </span>
          <CopyButton text={here.pointer} label="Copy the path" tipSide="top" />
          <span className="ml-auto">
            <CopyButton
              text={() => (typeof here.value === "string" ? here.value : JSON.stringify(here.value, null, 2))}
              label="Copy the value"
              tipSide="top"
            />
          </span>
        </div>
      )}
    </div>
  );
}

function SearchBar({ value, onFound }: { value: Json; onFound: (pointer: string) => void }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(-1);
  const search = useTreeSearch(value, query);
  return (
    <div className="mb-1 flex justify-end">
      <Find
        label="Find in the JSON"
        query={query}
        onQuery={(next) => {
          setQuery(next);
          setAt(-1);
        }}
        count={search.found.length}
        more={!search.complete}
        at={at}
        onStep={(by) => {
          const next = nextMatch(at, search.found.length, by);
          setAt(next);
          const pointer = search.found[next];
          if (pointer !== undefined) onFound(pointer);
        }}
      />
    </div>
  );
}

interface RowProps {
  id: string;
  row: TreeRow;
  active: boolean;
  onFold: (row: TreeRow, open: boolean) => void;
  onChoose: (pointer: string) => void;
}

const Row = memo(function Row({ id, row, active, onFold, onChoose }: RowProps) {
  const { name, value, depth, entries, open } = row;
  const foldable = entries !== null && entries > 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={foldable ? open : undefined}
      aria-selected={active}
      onClick={() => {
        onChoose(row.pointer);
        // Whoever selects text in it doesn't want it folded.
        if (foldable && getSelection()?.isCollapsed !== false) onFold(row, !open);
      }}
      className={cx(
        "flex min-w-0 items-start rounded-[4px] hover:bg-raised",
        foldable && "cursor-pointer",
        active &&
          "group-focus-visible/tree:bg-raised group-focus-visible/tree:outline group-focus-visible/tree:outline-accent",
      )}
      style={{ paddingLeft: depth * 14 }}
    >
      <ChevronRight
        aria-hidden
        size={12}
        className={cx(
          "mt-1 mr-1 shrink-0 text-muted transition-transform",
          open && "rotate-90",
          !foldable && "invisible",
        )}
      />
      <span className="min-w-0 break-all whitespace-pre-wrap">
        {name !== null && (
          <span className="text-muted">
            <Shown text={name} />
            {": "}
          </span>
        )}
        {entries === null ? (
          <Scalar value={value as string | number | boolean | null} />
        ) : (
          <span className="text-muted">{bracketsOf(Array.isArray(value), entries, open)}</span>
        )}
      </span>
    </div>
  );
});

function bracketsOf(list: boolean, entries: number, open: boolean): string {
  const [left, right] = list ? ["[", "]"] : ["{", "}"];
  if (entries === 0) return `${left}${right}`;
  if (open) return left;
  return `${left} ${entries.toLocaleString("en-GB")} ${entries === 1 ? "entry" : "entries"} ${right}`;
}

function Scalar({ value }: { value: string | number | boolean | null }) {
  if (typeof value === "string") {
    const cut = value.length - MAX_STRING;
    return (
      <>
        <span className="text-safe">
          <Shown text={JSON.stringify(cut > 0 ? value.slice(0, MAX_STRING) : value)} />
        </span>
        {cut > 0 && <span className="text-muted"> … {cut.toLocaleString("en-GB")} more characters</span>}
      </>
    );
  }
  return <span className={typeof value === "number" ? "text-accent-text" : "text-mutating"}>{String(value)}</span>;
}
