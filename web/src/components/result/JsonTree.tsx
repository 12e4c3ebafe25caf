/** JSON as a tree that folds. Long lists show in pieces, so that a huge result doesn't block the page. */
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import type { Json } from "../../api/types";
import { cx } from "../../lib/cx";

const PIECE = 200;

export function JsonTree({ value, depth = 2 }: { value: Json; depth?: number }) {
  return (
    <div className="overflow-x-auto font-mono text-12 leading-5">
      <Node value={value} open={depth} />
    </div>
  );
}

function Node({ name, value, open }: { name?: string; value: Json; open: number }) {
  const compound = value !== null && typeof value === "object";
  const [unfolded, setUnfolded] = useState(open > 0);
  const [shown, setShown] = useState(PIECE);
  const label = name !== undefined && <span className="text-muted">{name}: </span>;
  if (!compound) {
    return (
      <div className="pl-4 break-all whitespace-pre-wrap">
        {label}
        <Scalar value={value} />
      </div>
    );
  }
  const entries: [string, Json][] = Array.isArray(value)
    ? value.map((each, index) => [String(index), each])
    : Object.entries(value);
  const [left, right] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return (
      <div className="pl-4">
        {label}
        {left}
        {right}
      </div>
    );
  }
  return (
    <div>
      <button
        type="button"
        aria-expanded={unfolded}
        onClick={() => setUnfolded(!unfolded)}
        className="flex items-center rounded-control text-left hover:bg-raised"
      >
        <ChevronRight
          aria-hidden
          size={12}
          className={cx("mr-1 shrink-0 text-muted transition-transform", unfolded && "rotate-90")}
        />
        {label}
        <span className="text-muted">
          {unfolded ? left : `${left} ${entries.length} ${entries.length === 1 ? "entry" : "entries"} ${right}`}
        </span>
      </button>
      {unfolded && (
        <div className="ml-1.5 border-l border-line pl-2">
          {entries.slice(0, shown).map(([key, each]) => (
            <Node key={key} name={key} value={each} open={open - 1} />
          ))}
          {entries.length > shown && (
            <button
              type="button"
              className="pl-4 text-accent-text underline"
              onClick={() => setShown(shown + PIECE * 5)}
            >
              {entries.length - shown} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Scalar({ value }: { value: Json }) {
  if (typeof value === "string") return <span className="text-safe">{JSON.stringify(value)}</span>;
  if (typeof value === "number") return <span className="text-accent-text">{value}</span>;
  return <span className="text-mutating">{String(value)}</span>;
}
