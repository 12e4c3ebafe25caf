/** A plain value in words, by the unit that its name ends in; what exactly it stands for is on hover. */
import type { Json } from "../../api/types";
import { cx } from "../../lib/cx";
import { shownText } from "../../lib/hidden";
import { AnsiText } from "./AnsiLine";
import { formatValue } from "./shape";

const MOST = 10_000;

interface ValueProps {
  name: string;
  value: Json | undefined;
  parent?: string;
  /** It stands in a cell of one line: the whole is on hover. */
  cut?: boolean;
}

export function Value({ name, value, parent, cut }: ValueProps) {
  const { text, exact } = formatValue(name, value, parent);
  const shown = text.length > MOST ? `${text.slice(0, MOST)}…` : text;
  return (
    <span
      title={exact ?? (cut && text.length > 20 ? shownText(shown) : undefined)}
      className={cx("tabular", typeof value === "string" && !cut && "break-words")}
    >
      <AnsiText text={cut ? shown.replaceAll("\n", " ↵ ") : shown} />
    </span>
  );
}
