/** Series over time: lines, a readout under the pointer or the arrow keys, and the same as a table. */
import { type KeyboardEvent, type PointerEvent, useMemo, useRef, useState } from "react";
import type { JsonObject } from "../../api/types";
import { cx } from "../../lib/cx";
import { formatClock, formatDay, formatLocal } from "../../lib/format";
import { Shown } from "../Shown";
import { ResultTable } from "./ResultTable";
import { extremesOf, pathOf, type SeriesData, scaleOf } from "./series";
import { formatValue, labelOf } from "./shape";

const WIDTH = 600;
const HEIGHT = 140;
const MAX_LINES = 8;
const DAY_MS = 86_400_000;

const STROKES = [
  "stroke-ansi-blue",
  "stroke-ansi-yellow",
  "stroke-ansi-green",
  "stroke-ansi-magenta",
  "stroke-ansi-cyan",
  "stroke-ansi-red",
  "stroke-ansi-grey",
  "stroke-text",
];
/** Some are dashed: to some people colours alone tell nothing. */
const DASHES = ["", "", "5 3", "", "2 2", "5 3", "", "2 2"];
const DOTS = [
  "bg-ansi-blue",
  "bg-ansi-yellow",
  "bg-ansi-green",
  "bg-ansi-magenta",
  "bg-ansi-cyan",
  "bg-ansi-red",
  "bg-ansi-grey",
  "bg-text",
];

export function SeriesChart({ name, data }: { name: string; data: SeriesData }) {
  const [asTable, setAsTable] = useState(false);
  const rows = useMemo(() => (asTable ? tableOf(data) : null), [asTable, data]);
  const label = name ? labelOf(name) : "Series";
  return (
    <div className="min-w-0" data-series>
      <div className="mb-1 flex justify-end">
        <button
          type="button"
          aria-pressed={asTable}
          onClick={() => setAsTable(!asTable)}
          className={cx(
            "h-6 rounded-control px-2 text-12 hover:bg-raised hover:text-text",
            asTable ? "bg-raised text-text" : "text-muted",
          )}
        >
          As a table
        </button>
      </div>
      {rows ? (
        <ResultTable name={name} columns={["time", ...data.series.map((each) => each.name)]} rows={rows} />
      ) : (
        <Chart label={label} data={data} />
      )}
    </div>
  );
}

function tableOf({ times, series }: SeriesData): JsonObject[] {
  return times.map((at, index) => ({
    time: new Date(at).toISOString(),
    ...Object.fromEntries(series.map((each) => [each.name, each.values[index] ?? null])),
  }));
}

function words(name: string, value: number | null | undefined): string {
  return formatValue(name, value ?? null).text;
}

function Chart({ label, data }: { label: string; data: SeriesData }) {
  const area = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const { times } = data;
  const drawn = data.series.slice(0, MAX_LINES);
  const facts = useMemo(
    () => data.series.slice(0, MAX_LINES).map((each) => ({ name: each.name, extremes: extremesOf(each.values) })),
    [data],
  );
  const scale = useMemo(() => {
    const known = facts.flatMap((each) => (each.extremes ? [each.extremes] : []));
    if (known.length === 0) return scaleOf(0, 1);
    return scaleOf(Math.min(...known.map((each) => each.min)), Math.max(...known.map((each) => each.max)));
  }, [facts]);
  const paths = useMemo(
    () => data.series.slice(0, MAX_LINES).map((each) => pathOf(data.times, each.values, scale, WIDTH, HEIGHT)),
    [data, scale],
  );
  const begin = times[0] ?? 0;
  const end = times.at(-1) ?? 0;
  const share = (at: number) => ((at - begin) / (end - begin || 1)) * 100;
  const unitOf = drawn.length === 1 ? (drawn[0]?.name ?? "") : commonUnit(drawn.map((each) => each.name));

  const point = (event: PointerEvent) => {
    const box = area.current?.getBoundingClientRect();
    if (!box || box.width === 0) return;
    const at = begin + ((event.clientX - box.left) / box.width) * (end - begin);
    setCursor(nearest(times, at));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = times.length - 1;
    const step = Math.max(1, Math.round(times.length / 100));
    const to: Record<string, number> = {
      ArrowRight: Math.min(last, (cursor ?? -step) + step),
      ArrowLeft: Math.max(0, (cursor ?? last + step) - step),
      Home: 0,
      End: last,
    };
    const next = to[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    setCursor(next);
  };
  const at = cursor === null ? null : (times[cursor] ?? null);

  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex min-w-0">
        <div className="relative mr-2 w-14 shrink-0" style={{ height: HEIGHT }} aria-hidden>
          {scale.ticks.map((tick) => (
            <span
              key={tick}
              className="num absolute right-0 -translate-y-1/2 text-12 whitespace-nowrap text-muted"
              style={{ top: `${(1 - (tick - scale.from) / (scale.to - scale.from)) * 100}%` }}
            >
              {words(unitOf, tick)}
            </span>
          ))}
        </div>
        <div
          ref={area}
          role="application"
          aria-roledescription="chart"
          tabIndex={0}
          aria-label={`${label}: ${drawn.length === 1 ? "one line" : `${drawn.length} lines`} from ${formatLocal(begin)} to ${formatLocal(end)}. Arrow keys read the values; the same is there as a table.`}
          className="relative min-w-0 flex-1"
          style={{ height: HEIGHT }}
          onPointerMove={point}
          onPointerLeave={() => setCursor(null)}
          onBlur={() => setCursor(null)}
          onKeyDown={onKeyDown}
        >
          <svg
            aria-hidden
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            className="absolute inset-0 size-full overflow-visible"
          >
            {scale.ticks.map((tick) => {
              const y = (1 - (tick - scale.from) / (scale.to - scale.from)) * HEIGHT;
              return (
                <path key={tick} d={`M0 ${y}H${WIDTH}`} className="stroke-line" vectorEffect="non-scaling-stroke" />
              );
            })}
            {paths.map((path, index) => (
              <path
                key={index}
                d={path}
                fill="none"
                strokeWidth={1.5}
                strokeLinecap="round"
                strokeLinejoin="round"
                strokeDasharray={DASHES[index] || undefined}
                vectorEffect="non-scaling-stroke"
                className={STROKES[index]}
              />
            ))}
          </svg>
          {at !== null && (
            <span
              aria-hidden
              className="pointer-events-none absolute inset-y-0 w-px bg-muted"
              style={{ left: `${share(at)}%` }}
            />
          )}
        </div>
      </div>
      <div className="ml-16 flex justify-between gap-4 text-12 text-muted">
        <span className="tabular">{timeWord(begin, end - begin)}</span>
        <span className="tabular" role="status">
          {at !== null && formatLocal(at)}
        </span>
        <span className="tabular">{timeWord(end, end - begin)}</span>
      </div>
      <Legend facts={facts} values={cursor === null ? null : drawn.map((each) => each.values[cursor] ?? null)} />
      {data.series.length > MAX_LINES && (
        <p className="text-12 text-muted">{data.series.length - MAX_LINES} more lines in the table.</p>
      )}
    </div>
  );
}

function Legend({
  facts,
  values,
}: {
  facts: { name: string; extremes: ReturnType<typeof extremesOf> }[];
  values: (number | null)[] | null;
}) {
  return (
    <div className="overflow-x-auto" tabIndex={0} role="group" aria-label="Lines and their values">
      <table className="w-full text-12">
        <thead>
          <tr className="text-muted">
            <th scope="col" className="py-0.5 pr-3 text-left font-medium">
              Line
            </th>
            {["Here", "Min", "Max", "Last"].map((head) => (
              <th key={head} scope="col" className="num w-20 px-2 py-0.5 font-medium">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {facts.map(({ name, extremes }, index) => (
            <tr key={name} className="border-t border-line/60">
              <td className="max-w-64 py-0.5 pr-3">
                <span className="flex min-w-0 items-center gap-2">
                  <span aria-hidden className={cx("h-0.5 w-3 shrink-0", DOTS[index])} />
                  <span className="truncate" title={name}>
                    <Shown text={name.includes("{") ? name : labelOf(name)} />
                  </span>
                </span>
              </td>
              <td className="num px-2">{values ? words(name, values[index]) : "–"}</td>
              <td className="num px-2">{words(name, extremes?.min)}</td>
              <td className="num px-2">{words(name, extremes?.max)}</td>
              <td className="num px-2">{words(name, extremes?.last)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The name whose unit the axis may show: lines of different units share none. */
function commonUnit(names: readonly string[]): string {
  const unitOf = (name: string) => /(_bytes|_percent|_ms|_seconds|_per_second)$/.exec(name)?.[0] ?? "";
  const first = unitOf(names[0] ?? "");
  return first && names.every((name) => unitOf(name) === first) ? `value${first}` : "";
}

function timeWord(at: number, span: number): string {
  return span > DAY_MS ? formatDay(new Date(at)) : formatClock(new Date(at));
}

function nearest(times: readonly number[], at: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low > 0 && at - (times[low - 1] ?? 0) < (times[low] ?? 0) - at ? low - 1 : low;
}
