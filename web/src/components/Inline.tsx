import { Fragment } from "react";

/** A sentence of a definition, in which backticks mark code. */
export function Inline({ text }: { text: string }) {
  return (
    <>
      {text.split(/(`[^`]+`)/).map((piece, index) =>
        piece.length > 2 && piece.startsWith("`") && piece.endsWith("`") ? (
          <code key={index} className="font-mono text-[0.94em] text-text">
            {piece.slice(1, -1)}
          </code>
        ) : (
          <Fragment key={index}>{piece}</Fragment>
        ),
      )}
    </>
  );
}
