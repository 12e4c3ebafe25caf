/** How many calls there were over time. Drag to select a span; from the keyboard use the time filter. */
import { useQuery } from "@tanstack/react-query";
import { type PointerEvent, useState } from "react";
import { densityQuery } from "../../api/queries";
import type { CallFilter } from "../../api/types";
import { formatClock, formatLocal } from "../../lib/format";

const BUCKETS = 96;
const HEIGHT = 44;

interface DensityStripProps {
  filter: CallFilter;
  from: number;
  to: number;
  onSelect: (from: string, to: string) => void;
}

export function DensityStrip({ filter, from, to, onSelect }: DensityStripProps) {
  const density = useQuery(
    densityQuery({ ...filter, from: new Date(from).toISOString(), to: new Date(to).toISOString(), buckets: BUCKETS }),
  );
  const [drag, setDrag] = useState<{ start: number; end: number } | null>(null);
  const buckets = density.data ?? [];
  const most = Math.max(1, ...buckets.map((bucket) => bucket.count));
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const failed = buckets.reduce((sum, bucket) => sum + bucket.failed, 0);

  const shareOf = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  const timeAt = (share: number) => from + share * (to - from);
  const finish = () => {
    if (!drag) return;
    const [start, end] = [Math.min(drag.start, drag.end), Math.max(drag.start, drag.end)];
    setDrag(null);
    if (end - start > 0.01) onSelect(new Date(timeAt(start)).toISOString(), new Date(timeAt(end)).toISOString());
  };
  return (
    <div className="px-4 pb-2 md:px-6">
      <div
        role="img"
        aria-label={`${total} calls from ${formatLocal(from)} to ${formatLocal(to)}, ${failed} of them did not succeed`}
        className="relative cursor-crosshair touch-none rounded-control border border-line bg-surface select-none"
        style={{ height: HEIGHT }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const share = shareOf(event);
          setDrag({ start: share, end: share });
        }}
        onPointerMove={(event) => drag && setDrag({ ...drag, end: shareOf(event) })}
        onPointerUp={finish}
        onPointerCancel={() => setDrag(null)}
      >
        <svg
          aria-hidden="true"
          className="absolute inset-0 size-full"
          viewBox={`0 0 ${BUCKETS} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          {buckets.map((bucket, index) => {
            const height = bucket.count === 0 ? 0 : Math.max(2, (bucket.count / most) * (HEIGHT - 8));
            const bad = bucket.count === 0 ? 0 : (bucket.failed / bucket.count) * height;
            const x = (index * BUCKETS) / buckets.length;
            return (
              <g key={bucket.from}>
                <rect x={x + 0.1} y={HEIGHT - height} width={0.8} height={height} className="fill-muted/60" />
                {bad > 0 && <rect x={x + 0.1} y={HEIGHT - bad} width={0.8} height={bad} className="fill-dangerous" />}
              </g>
            );
          })}
        </svg>
        {drag && (
          <div
            className="absolute inset-y-0 border-x border-accent bg-accent/20"
            style={{
              left: `${Math.min(drag.start, drag.end) * 100}%`,
              width: `${Math.abs(drag.end - drag.start) * 100}%`,
            }}
          />
        )}
      </div>
      <div className="mt-1 flex justify-between text-12 text-muted tabular">
        <span>{formatLocal(from)}</span>
        <span className="max-md:hidden">
          {total.toLocaleString("en-GB")} calls{failed > 0 ? `, ${failed.toLocaleString("en-GB")} not succeeded` : ""}.
          Drag to select a time.
        </span>
        <span>{to - from < 86_400_000 ? formatClock(new Date(to)) : formatLocal(to)}</span>
      </div>
    </div>
  );
}
