/** A piece of a result, drawn by its shape; pieces within it likewise. */
import { memo, useMemo } from "react";
import type { Json } from "../../api/types";
import { cx } from "../../lib/cx";
import { Shown } from "../Shown";
import { DiffView } from "./DiffView";
import { HostResults } from "./HostResults";
import { hostResults } from "./hosts";
import { JsonTree } from "./JsonTree";
import { Output } from "./Output";
import { ResultImage } from "./ResultImage";
import { ResultTable } from "./ResultTable";
import { SeriesChart } from "./SeriesChart";
import { labelOf, type Shape, shapeOf } from "./shape";
import { Value } from "./Value";

const DEEPEST = 4;
const ITEMS = 50;
const LONG_VALUE = 28;

export const Piece = memo(function Piece({ name, value, depth }: { name: string; value: Json; depth: number }) {
  const shape = useMemo(() => shapeOf(value, name), [value, name]);
  const hosts = useMemo(() => (depth === 0 ? hostResults(value) : null), [depth, value]);
  if (hosts) return <HostResults hosts={hosts} />;
  if (depth > DEEPEST) return <JsonTree value={value} depth={1} />;
  const label = name ? labelOf(name) : undefined;
  switch (shape.kind) {
    case "value":
      return <Value name={name} value={value} />;
    case "text":
      return <Output text={shape.text} label={label} />;
    case "diff":
      return <DiffView text={shape.text} label={label} />;
    case "picture":
      return <ResultImage picture={shape.picture} label={label ?? "Picture"} />;
    case "series":
      return <SeriesChart name={name} data={shape.data} />;
    case "table":
      return <ResultTable name={name} columns={shape.columns} rows={shape.rows} />;
    case "list":
      return (
        <div className="flex flex-col gap-2">
          {shape.items.slice(0, ITEMS).map((each, index) => (
            <div key={index} className="border-l border-line pl-3">
              <Piece name={name} value={each} depth={depth + 1} />
            </div>
          ))}
          {shape.items.length > ITEMS && (
            <p className="text-12 text-muted">
              {(shape.items.length - ITEMS).toLocaleString("en-GB")} more in the JSON view.
            </p>
          )}
        </div>
      );
    case "fields":
      return <Fields shape={shape} name={name} depth={depth} />;
  }
});

function Fields({ shape, name, depth }: { shape: Extract<Shape, { kind: "fields" }>; name: string; depth: number }) {
  if (shape.small.length === 0 && shape.large.length === 0) {
    return <p className="text-13 text-muted">An empty result.</p>;
  }
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {shape.small.length > 0 && (
        <dl className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,200px),1fr))] gap-x-6 gap-y-0.5 text-13">
          {shape.small.map(([key, each]) => (
            <div
              key={key}
              className={cx(
                "flex min-w-0 items-baseline justify-between gap-3 border-b border-line/60 py-0.5",
                String(each).length > LONG_VALUE && "col-span-full",
              )}
            >
              <dt className="shrink-0 text-muted">
                <Shown text={labelOf(key)} />
              </dt>
              <dd className="min-w-0 text-right break-words">
                <Value name={key} value={each} parent={name} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {shape.large.map(([key, each]) => (
        <div key={key} role="group" aria-label={labelOf(key)} className="min-w-0">
          <div className="mb-1 text-12 font-medium text-muted">
            <Shown text={labelOf(key)} />
          </div>
          <Piece name={key} value={each} depth={depth + 1} />
        </div>
      ))}
    </div>
  );
}
