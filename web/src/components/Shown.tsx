/** Text that somebody else wrote, in which nothing is invisible. */
import { Fragment, type ReactNode } from "react";
import { mayHide, shownPieces } from "../lib/hidden";

/** The name of a character that wouldn't show, where it stands. */
export function HiddenMark({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span
      title={title ?? "A character that doesn't show, or changes the order of what does"}
      className="mx-px rounded-[4px] border border-mutating px-1 text-12 text-mutating"
      data-hidden-mark
    >
      {children}
    </span>
  );
}

export function Shown({ text }: { text: string }) {
  if (!mayHide(text)) return text;
  return shownPieces(text).map((piece, index) =>
    piece.hidden ? (
      <HiddenMark key={index} title={piece.title}>
        {piece.text}
      </HiddenMark>
    ) : (
      <Fragment key={index}>{piece.text}</Fragment>
    ),
  );
}
