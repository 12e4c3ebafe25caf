/** Text as it is, to read and to copy. */
import { cx } from "../lib/cx";
import { CopyButton } from "./Copy";

export function Block({ text, label, className }: { text: string; label: string; className?: string }) {
  return (
    <div className="relative">
      <pre
        tabIndex={0}
        role="group"
        aria-label={label}
        className={cx(
          "overflow-auto rounded-control border border-line bg-bg p-3 pr-11 font-mono text-12 whitespace-pre-wrap break-words",
          className,
        )}
      >
        {text}
      </pre>
      <div className="absolute top-1.5 right-1.5 rounded-control bg-bg">
        <CopyButton text={text} label={`Copy: ${label}`} tipSide="left" className="size-7 max-md:size-11" />
      </div>
    </div>
  );
}
