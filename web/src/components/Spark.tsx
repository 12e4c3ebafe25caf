import { cx } from "../lib/cx";

const WIDTH = 56;
const HEIGHT = 16;

/** A line of percentages, newest on the right. */
export function Spark({ values }: { values: number[] }) {
  if (values.length < 2) return <span className="w-14 shrink-0" />;
  const step = WIDTH / (values.length - 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)},${(HEIGHT - 1 - (Math.min(100, Math.max(0, value)) / 100) * (HEIGHT - 2)).toFixed(1)}`,
  );
  return (
    <svg aria-hidden="true" width={WIDTH} height={HEIGHT} className="shrink-0">
      <polyline points={points.join(" ")} fill="none" className="stroke-muted" strokeWidth="1.25" />
    </svg>
  );
}

/** A bar for a share of something. From 85 % on it says so by colour and word. */
export function Meter({ label, percent }: { label: string; percent: number | null | undefined }) {
  const known = typeof percent === "number";
  const high = known && percent >= 85;
  return (
    <div className="flex flex-col gap-1 text-13">
      <div className="flex items-baseline justify-between gap-2">
        <span className="text-muted">{label}</span>
        <span className="tabular">
          {known ? `${percent.toFixed(percent < 10 ? 1 : 0)} %` : "–"}
          {high && <span className="text-mutating"> high</span>}
        </span>
      </div>
      <div className="h-1 overflow-hidden rounded-full bg-raised" role="presentation">
        <div
          className={cx("h-full rounded-full", high ? "bg-mutating" : "bg-muted")}
          style={{ width: `${known ? Math.min(100, percent) : 0}%` }}
        />
      </div>
    </div>
  );
}
