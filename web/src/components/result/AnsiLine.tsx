/** One line of terminal output, in colours of the theme. What the line would do to a terminal is named, not done. */
import { memo } from "react";
import { type AnsiColour, type AnsiPiece, parseAnsi } from "../../lib/ansi";
import { cx } from "../../lib/cx";
import type { TerminalLine } from "../../lib/terminal";
import { Shown } from "../Shown";

const COLOURS: Record<AnsiColour, string> = {
  red: "text-ansi-red",
  green: "text-ansi-green",
  yellow: "text-ansi-yellow",
  blue: "text-ansi-blue",
  magenta: "text-ansi-magenta",
  cyan: "text-ansi-cyan",
  grey: "text-ansi-grey",
};

/** Tints, on which the page's own text colour has contrast enough; a colour of its own might not have it. */
const BACKGROUNDS: Record<AnsiColour, string> = {
  red: "bg-ansi-red/25",
  green: "bg-ansi-green/25",
  yellow: "bg-ansi-yellow/25",
  blue: "bg-ansi-blue/25",
  magenta: "bg-ansi-magenta/25",
  cyan: "bg-ansi-cyan/25",
  grey: "bg-ansi-grey/25",
};

function lookOf({ style }: AnsiPiece): string {
  const coloured = style.background === null && !style.inverse;
  return cx(
    style.inverse ? "bg-text text-bg" : style.background && BACKGROUNDS[style.background],
    coloured && (style.colour ? COLOURS[style.colour] : style.dim && "text-muted"),
    style.bold && "font-semibold",
    style.italic && "italic",
    style.underline && !style.strike && "underline",
    style.strike && "line-through",
    style.conceal && "underline decoration-mutating decoration-dotted",
  );
}

/** A text of a field or a cell, where programs leave their colours as well. */
export function AnsiText({ text }: { text: string }) {
  if (!text.includes("\u001b")) return <Shown text={text} />;
  return parseAnsi(text).pieces.map((piece, index) => <Piece key={index} piece={piece} />);
}

function Piece({ piece }: { piece: AnsiPiece }) {
  if (piece.control) {
    return (
      <span
        title={`It would ${piece.control}. Not done.`}
        className="text-muted underline decoration-dotted underline-offset-2"
        data-control
      >
        <Shown text={piece.text.length > 80 ? `${piece.text.slice(0, 80)}…` : piece.text} />
      </span>
    );
  }
  return (
    <span
      className={lookOf(piece) || undefined}
      title={piece.style.conceal ? "A terminal would not show this." : undefined}
    >
      <Shown text={piece.text} />
    </span>
  );
}

export const AnsiLine = memo(function AnsiLine({
  line,
  wrap,
  found,
}: {
  line: TerminalLine;
  wrap: boolean;
  found?: boolean;
}) {
  return (
    <div
      className={cx(
        "min-h-[18px] [tab-size:8]",
        wrap ? "break-all whitespace-pre-wrap" : "whitespace-pre",
        found && "bg-accent/20",
      )}
    >
      {line.pieces.map((piece, index) => (
        <Piece key={index} piece={piece} />
      ))}
      {line.folded > 0 && (
        <span className="ml-2 rounded-[4px] bg-raised px-1 text-muted" title="Written over each other in one line.">
          {line.folded} before
        </span>
      )}
      {line.cut > 0 && (
        <span className="ml-2 rounded-[4px] bg-raised px-1 text-muted">
          {line.cut.toLocaleString("en-GB")} more characters: copy or download
        </span>
      )}
    </div>
  );
});
