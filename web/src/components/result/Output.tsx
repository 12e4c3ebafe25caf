/** Terminal output: monospace, with its colours, virtualised when it is long. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { cx } from "../../lib/cx";
import { MAX_LINES, TerminalText } from "../../lib/terminal";
import { CopyButton } from "../Copy";
import { AnsiLine } from "./AnsiLine";
import { Find, nextMatch } from "./find";

const VIRTUAL_FROM = 200;
const LINE_PX = 18;
const MOST_FOUND = 10_000;
const SLICE_MS = 4;

export function Output({ text, label = "Output" }: { text: string; label?: string }) {
  const [unfold, setUnfold] = useState(false);
  const terminal = useMemo(() => new TerminalText(text, unfold), [text, unfold]);
  const fold = terminal.foldable > 0 && (
    <Toggle on={unfold} onToggle={() => setUnfold(!unfold)}>
      Unfold what was written over
    </Toggle>
  );
  return (
    <div className="group relative min-w-0">
      <div className="absolute top-1 right-1 z-10 rounded-control bg-bg opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
        <CopyButton text={text} label="Copy all" tipSide="left" />
      </div>
      {terminal.count > VIRTUAL_FROM ? (
        <LongOutput terminal={terminal} label={label} more={fold} />
      ) : (
        <>
          <ShortOutput terminal={terminal} label={label} />
          {fold && <div className="mt-1">{fold}</div>}
        </>
      )}
    </div>
  );
}

const frame = "overflow-auto rounded-control border border-line bg-bg px-3 py-2 font-mono text-12 leading-[18px]";

function Toggle({ on, onToggle, children }: { on: boolean; onToggle: () => void; children: React.ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={on}
      onClick={onToggle}
      className={cx(
        "h-7 rounded-control px-2 text-12 hover:bg-raised hover:text-text",
        on ? "bg-raised text-text" : "text-muted",
      )}
    >
      {children}
    </button>
  );
}

function ShortOutput({ terminal, label }: { terminal: TerminalText; label: string }) {
  return (
    <div className={cx(frame, "max-h-96")} tabIndex={0} role="group" aria-label={label}>
      {terminal.lines.map((_, index) => (
        <AnsiLine key={index} line={terminal.line(index)} wrap={false} />
      ))}
    </div>
  );
}

function LongOutput({ terminal, label, more }: { terminal: TerminalText; label: string; more: React.ReactNode }) {
  const ref = useRef<HTMLDivElement>(null);
  const [wrap, setWrap] = useState(false);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(-1);
  const wanted = useDeferredValue(query);
  const found = useMemo(() => terminal.find(wanted, MOST_FOUND), [terminal, wanted]);
  const rows = useVirtualizer({
    count: terminal.count,
    getScrollElement: () => ref.current,
    estimateSize: () => LINE_PX,
    overscan: 12,
  });
  useWarmUp(terminal);
  const step = (by: 1 | -1) => {
    const next = nextMatch(at, found.length, by);
    setAt(next);
    const line = found[next];
    if (line !== undefined) rows.scrollToIndex(line, { align: "center" });
  };
  const marked = found[at];
  return (
    <>
      <div ref={ref} className={cx(frame, "h-96")} tabIndex={0} role="group" aria-label={label} data-long-output>
        <div className={cx("relative", wrap ? "w-full" : "w-max min-w-full")} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => (
            <div
              key={row.key}
              data-index={row.index}
              ref={wrap ? rows.measureElement : undefined}
              className={cx("absolute top-0 left-0", wrap && "w-full")}
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <AnsiLine line={terminal.line(row.index)} wrap={wrap} found={row.index === marked} />
            </div>
          ))}
        </div>
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-12 text-muted">
        <span className="tabular mr-auto">
          {terminal.count.toLocaleString("en-GB")} lines
          {terminal.beyond > 0 &&
            ` shown, ${terminal.beyond.toLocaleString("en-GB")} more than ${MAX_LINES.toLocaleString("en-GB")} in the download`}
        </span>
        {more}
        <Toggle
          on={wrap}
          onToggle={() => {
            setWrap(!wrap);
            rows.measure();
          }}
        >
          Wrap
        </Toggle>
        <Find
          label={`Find in ${label}`}
          query={query}
          onQuery={(next) => {
            setQuery(next);
            setAt(-1);
          }}
          count={found.length}
          more={found.length >= MOST_FOUND}
          at={at}
          onStep={step}
        />
      </div>
    </>
  );
}

/** Looks for where colours begin while nobody waits, so that a jump to the end needn't. */
function useWarmUp(terminal: TerminalText): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const until = performance.now() + SLICE_MS;
      if (!terminal.lookAhead(() => performance.now() > until)) timer = setTimeout(look, SLICE_MS * 4);
    };
    timer = setTimeout(look, 300);
    return () => clearTimeout(timer);
  }, [terminal]);
}
