/** A unified diff: files, hunks, what came and what went, with signs and words beside the colours. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronUp } from "lucide-react";
import { type KeyboardEvent, useMemo, useRef } from "react";
import { cx } from "../../lib/cx";
import { type DiffRow, parseDiff } from "../../lib/diff";
import { IconButton } from "../Button";
import { CopyButton } from "../Copy";
import { Shown } from "../Shown";

const VIRTUAL_FROM = 300;
const LINE_PX = 18;
const MAX_LINE = 4_000;

const LOOKS: Record<DiffRow["kind"], string> = {
  file: "bg-raised font-medium",
  hunk: "bg-raised/60 text-muted",
  added: "bg-safe/12",
  removed: "bg-danger-text/12",
  same: "",
  note: "text-muted",
};
const SIGNS: Partial<Record<DiffRow["kind"], string>> = { added: "+", removed: "−" };

export function DiffView({ text, label = "Changes" }: { text: string; label?: string }) {
  const diff = useMemo(() => parseDiff(text), [text]);
  const ref = useRef<HTMLDivElement>(null);
  const { rows, hunks } = diff;
  const virtual = rows.length > VIRTUAL_FROM;
  const virtualizer = useVirtualizer({
    count: rows.length,
    enabled: virtual,
    getScrollElement: () => ref.current,
    estimateSize: () => LINE_PX,
    overscan: 12,
  });

  /** The index of the first row that is shown. */
  const top = (): number => {
    const element = ref.current;
    if (!element) return 0;
    if (virtual) return virtualizer.getVirtualItemForOffset(element.scrollTop + 2)?.index ?? 0;
    const at = [...element.querySelectorAll<HTMLElement>("[data-index]")].findIndex(
      (row) => row.offsetTop + row.offsetHeight > element.scrollTop + 2,
    );
    return Math.max(0, at);
  };
  const step = (by: 1 | -1) => {
    const here = top();
    const next = by === 1 ? hunks.find((index) => index > here) : hunks.filter((index) => index < here).at(-1);
    if (next === undefined) return;
    if (virtual) virtualizer.scrollToIndex(next, { align: "start" });
    else {
      const row = ref.current?.querySelector<HTMLElement>(`[data-index="${next}"]`);
      ref.current?.scrollTo({ top: row?.offsetTop ?? 0 });
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n" || event.key === "p") {
      event.preventDefault();
      event.stopPropagation();
      step(event.key === "n" ? 1 : -1);
    }
  };

  return (
    <div className="min-w-0" data-diff>
      <div className="mb-1 flex items-center gap-2 text-12 text-muted">
        <span className="tabular mr-auto">
          <span className="text-safe">+{diff.added.toLocaleString("en-GB")}</span>{" "}
          <span className="text-danger-text">−{diff.removed.toLocaleString("en-GB")}</span>{" "}
          {diff.files === 1 ? "in one file" : `in ${diff.files} files`}
        </span>
        {hunks.length > 1 && (
          <>
            <IconButton
              icon={ChevronUp}
              label="The change before (p)"
              size={14}
              className="size-6"
              tipSide="left"
              onClick={() => step(-1)}
            />
            <IconButton
              icon={ChevronDown}
              label="The next change (n)"
              size={14}
              className="size-6"
              tipSide="left"
              onClick={() => step(1)}
            />
          </>
        )}
        <CopyButton text={text} label="Copy the diff" tipSide="left" />
      </div>
      <div
        ref={ref}
        tabIndex={0}
        role="group"
        aria-label={label}
        onKeyDown={onKeyDown}
        className="relative max-h-96 overflow-auto rounded-control border border-line bg-bg font-mono text-12 leading-[18px]"
      >
        {virtual ? (
          <div className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
            {virtualizer.getVirtualItems().map((item) => (
              <div
                key={item.key}
                data-index={item.index}
                ref={virtualizer.measureElement}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <Row row={rows[item.index] as DiffRow} />
              </div>
            ))}
          </div>
        ) : (
          rows.map((row, index) => (
            <div key={index} data-index={index}>
              <Row row={row} />
            </div>
          ))
        )}
      </div>
    </div>
  );
}

function Row({ row }: { row: DiffRow }) {
  const text = row.text.length > MAX_LINE ? `${row.text.slice(0, MAX_LINE)}…` : row.text;
  return (
    <div className={cx("flex min-h-[18px]", LOOKS[row.kind])} data-diff-row={row.kind}>
      <LineNumber value={"before" in row ? row.before : null} />
      <LineNumber value={"after" in row ? row.after : null} />
      <span
        className={cx(
          "w-4 shrink-0 text-center select-none",
          row.kind === "added" ? "text-safe" : row.kind === "removed" ? "text-danger-text" : "text-muted",
        )}
      >
        {SIGNS[row.kind] ?? ""}
      </span>
      <span className="min-w-0 flex-1 pr-3 [overflow-wrap:anywhere] whitespace-pre-wrap [tab-size:8]">
        <Shown text={text} />
      </span>
    </div>
  );
}

function LineNumber({ value }: { value: number | null }) {
  return <span className="num w-11 shrink-0 pr-2 text-muted select-none max-md:w-8">{value ?? ""}</span>;
}
