/** A field that finds, and steps from one match to the next. */
import { ChevronDown, ChevronUp } from "lucide-react";
import { cx } from "../../lib/cx";
import { IconButton } from "../Button";
import { inputLook } from "../Field";

interface FindProps {
  label: string;
  query: string;
  onQuery: (query: string) => void;
  /** Matches so far. */
  count: number;
  /** There may be more than counted. */
  more: boolean;
  /** Which match is shown, from 0; `-1` before the first. */
  at: number;
  onStep: (by: 1 | -1) => void;
}

export function Find({ label, query, onQuery, count, more, at, onStep }: FindProps) {
  return (
    <span className="inline-flex items-center gap-1">
      <input
        type="search"
        aria-label={label}
        placeholder="Find"
        value={query}
        className={cx(inputLook, "h-7 w-36 text-12")}
        onChange={(event) => onQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          onStep(event.shiftKey ? -1 : 1);
        }}
      />
      {query !== "" && (
        <>
          <span role="status" className="tabular text-12 text-muted">
            {count === 0
              ? "none"
              : `${at < 0 ? "" : `${at + 1} of `}${count.toLocaleString("en-GB")}${more ? "+" : ""}`}
          </span>
          <IconButton
            icon={ChevronUp}
            label="The match before"
            tip={false}
            size={14}
            className="size-6"
            disabled={count === 0}
            onClick={() => onStep(-1)}
          />
          <IconButton
            icon={ChevronDown}
            label="The next match"
            tip={false}
            size={14}
            className="size-6"
            disabled={count === 0}
            onClick={() => onStep(1)}
          />
        </>
      )}
    </span>
  );
}

/** The next of `count` matches, around the end. */
export function nextMatch(at: number, count: number, by: 1 | -1): number {
  if (count === 0) return -1;
  return at < 0 ? (by === 1 ? 0 : count - 1) : (at + by + count) % count;
}
