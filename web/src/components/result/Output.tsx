/** Terminal output: monospace, with its colours, virtualised when it is long. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useMemo, useRef } from "react";
import { type AnsiColour, parseAnsi } from "../../lib/ansi";
import { cx } from "../../lib/cx";
import { CopyButton } from "../Copy";

const COLOURS: Record<AnsiColour, string> = {
  red: "text-danger-text",
  green: "text-safe",
  yellow: "text-mutating",
  blue: "text-accent-text",
  magenta: "text-accent-text",
  cyan: "text-accent-text",
  grey: "text-muted",
};
const VIRTUAL_FROM = 200;
const LINE_PX = 18;

export function Output({ text, label = "Output" }: { text: string; label?: string }) {
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  return (
    <div className="group relative">
      <div className="absolute top-1 right-1 z-10 rounded-control bg-bg opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
        <CopyButton text={text} label="Copy all" tipSide="left" />
      </div>
      {lines.length > VIRTUAL_FROM ? (
        <LongOutput lines={lines} label={label} />
      ) : (
        <ShortOutput lines={lines} label={label} />
      )}
    </div>
  );
}

const frame = "overflow-auto rounded-control border border-line bg-bg px-3 py-2 font-mono text-12 leading-[18px]";

function ShortOutput({ lines, label }: { lines: string[]; label: string }) {
  return (
    <div className={cx(frame, "max-h-96")} tabIndex={0} role="group" aria-label={label}>
      {lines.map((line, index) => (
        <Line key={index} text={line} />
      ))}
    </div>
  );
}

function LongOutput({ lines, label }: { lines: string[]; label: string }) {
  const ref = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => ref.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });
  return (
    <>
      <div ref={ref} className={cx(frame, "h-96")} tabIndex={0} role="group" aria-label={label}>
        <div className="relative w-max min-w-full" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => (
            <div
              key={row.key}
              className="absolute top-0 left-0 whitespace-pre"
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <Line text={lines[row.index] ?? ""} />
            </div>
          ))}
        </div>
      </div>
      <p className="mt-1 text-12 text-muted">{lines.length.toLocaleString("en-GB")} lines</p>
    </>
  );
}

const Line = memo(function Line({ text }: { text: string }) {
  return (
    <div className="min-h-[18px] whitespace-pre">
      {parseAnsi(text).map((piece, index) => (
        <span key={index} className={cx(piece.colour && COLOURS[piece.colour], piece.bold && "font-semibold")}>
          {piece.text}
        </span>
      ))}
    </div>
  );
});
