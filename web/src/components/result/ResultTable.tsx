/** Rows with columns: sorted by a click, numbers to the right, only the rows on the screen drawn. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp, ChevronsUpDown, Download } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import type { Json, JsonObject } from "../../api/types";
import { toCsv } from "../../lib/csv";
import { cx } from "../../lib/cx";
import { fileName, saveFile } from "../../lib/save";
import { Button } from "../Button";
import { labelOf } from "./shape";
import { type Order, sortRows } from "./sort";
import { Value } from "./Value";

const VIRTUAL_FROM = 100;
const ROW_PX = 24;
const WIDEST_CH = 60;
const SAMPLE = 300;

/** Short words stay on one line, long ones get room; the rest is cut and whole on hover and in the JSON view. */
function cellLook(value: Json | undefined): string {
  const length = typeof value === "string" ? value.length : 0;
  if (length <= 24) return "whitespace-nowrap";
  return length <= 400 ? "min-w-64 max-w-[560px] break-words" : "max-w-[420px] truncate";
}

function isNumeric(rows: readonly JsonObject[], key: string): boolean {
  let some = false;
  for (const row of rows) {
    const value = row[key];
    if (typeof value === "number") some = true;
    else if (value !== null && value !== undefined) return false;
  }
  return some;
}

export function ResultTable({ name, columns, rows }: { name: string; columns: string[]; rows: JsonObject[] }) {
  const label = name ? labelOf(name) : "Result";
  const scroller = useRef<HTMLDivElement>(null);
  const [order, setOrder] = useState<Order | null>(null);
  const numeric = useMemo(() => new Set(columns.filter((key) => isNumeric(rows, key))), [columns, rows]);
  const sorted = useMemo(() => sortRows(rows, order), [rows, order]);
  const virtual = rows.length > VIRTUAL_FROM;
  const widths = useMemo(() => (virtual ? widthsOf(columns, rows) : null), [virtual, columns, rows]);
  const virtualizer = useVirtualizer({
    count: sorted.length,
    enabled: virtual,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const items = virtual ? virtualizer.getVirtualItems() : null;
  const above = items?.[0]?.start ?? 0;
  const below = items ? virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;

  const tr = (index: number) => (
    <tr
      key={index}
      aria-rowindex={virtual ? index + 2 : undefined}
      className={cx("border-t border-line/60 hover:bg-raised/50", virtual && "h-6")}
    >
      {columns.map((key) => (
        <td
          key={key}
          className={cx(
            "px-2 py-0.5 align-top",
            numeric.has(key) ? "num whitespace-nowrap" : virtual ? "truncate" : cellLook(sorted[index]?.[key]),
          )}
        >
          <Value name={key} value={sorted[index]?.[key]} parent={name} cut={virtual} />
        </td>
      ))}
    </tr>
  );

  return (
    <div className="min-w-0">
      <div
        ref={scroller}
        className="max-h-[480px] overflow-auto rounded-control border border-line"
        tabIndex={0}
        role="group"
        aria-label={label}
      >
        <table
          className={cx("min-w-full text-12", virtual && "table-fixed")}
          aria-rowcount={virtual ? rows.length + 1 : undefined}
          style={widths ? { width: `${widths.reduce((sum, each) => sum + each, 0)}ch` } : undefined}
        >
          {widths && (
            <colgroup>
              {columns.map((key, index) => (
                <col key={key} style={{ width: `${widths[index]}ch` }} />
              ))}
            </colgroup>
          )}
          <thead className="sticky top-0 z-10 bg-raised">
            <tr>
              {columns.map((key) => (
                <Head key={key} name={key} numeric={numeric.has(key)} order={order} onOrder={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            {above > 0 && (
              <tr aria-hidden>
                <td colSpan={columns.length} style={{ height: above }} />
              </tr>
            )}
            {items ? items.map((item) => tr(item.index)) : sorted.map((_, index) => tr(index))}
            {below > 0 && (
              <tr aria-hidden>
                <td colSpan={columns.length} style={{ height: below }} />
              </tr>
            )}
          </tbody>
        </table>
      </div>
      <div className="mt-1 flex items-center gap-2 text-12 text-muted">
        <span className="tabular mr-auto">
          {rows.length.toLocaleString("en-GB")} {rows.length === 1 ? "row" : "rows"}
        </span>
        <Button
          look="quiet"
          size="small"
          icon={Download}
          onClick={() => saveFile(fileName(label, "csv"), [toCsv(columns, sorted)], "text/csv;charset=utf-8")}
        >
          CSV
        </Button>
      </div>
    </div>
  );
}

interface HeadProps {
  name: string;
  numeric: boolean;
  order: Order | null;
  onOrder: (order: Order | null) => void;
}

/** A click sorts, the next turns it around, the third gives back the order in which the rows came. */
function Head({ name, numeric, order, onOrder }: HeadProps) {
  const mine = order?.key === name ? order : null;
  const next =
    mine === null
      ? { key: name, falling: numeric }
      : mine.falling === numeric
        ? { key: name, falling: !numeric }
        : null;
  const Icon = mine === null ? ChevronsUpDown : mine.falling ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      aria-sort={mine ? (mine.falling ? "descending" : "ascending") : undefined}
      className={cx("px-1 py-0.5 font-medium whitespace-nowrap text-muted", numeric ? "text-right" : "text-left")}
    >
      <button
        type="button"
        onClick={() => onOrder(next)}
        className={cx(
          "group/head inline-flex max-w-full items-center gap-1 rounded-[4px] px-1 hover:text-text",
          mine && "text-text",
          numeric && "flex-row-reverse",
        )}
      >
        <span className="truncate">{labelOf(name)}</span>
        <Icon
          aria-hidden
          size={12}
          className={cx(
            "shrink-0",
            !mine && "opacity-0 group-hover/head:opacity-100 group-focus-visible/head:opacity-100",
          )}
        />
      </button>
    </th>
  );
}

/** Widths of columns whose rows come and go: by the longest of a sample, since measuring all would draw all. */
function widthsOf(columns: readonly string[], rows: readonly JsonObject[]): number[] {
  const step = Math.max(1, Math.floor(rows.length / SAMPLE));
  return columns.map((key) => {
    let widest = labelOf(key).length + 7;
    for (let at = 0; at < rows.length && widest < WIDEST_CH; at += step) {
      const value = rows[at]?.[key];
      const text = typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
      // Dates are written with a few letters more than they come with.
      widest = Math.max(widest, text.length + 4);
    }
    return Math.min(widest, WIDEST_CH);
  });
}
