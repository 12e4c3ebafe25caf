/** A unified diff; each line keeps its sign, so the colour says nothing alone. */
import { cx } from "../../../lib/cx";

export function DiffText({ text }: { text: string }) {
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label="Changes"
      data-diff
      className="max-h-72 overflow-auto rounded-control border border-line bg-bg py-2 font-mono text-12"
    >
      {text.split("\n").map((line, index) => (
        <span
          key={index}
          className={cx(
            "block min-h-4 px-3 whitespace-pre-wrap break-words",
            line.startsWith("+") && "bg-safe/10 text-safe",
            line.startsWith("-") && "bg-dangerous/10 text-danger-text",
            line.startsWith("@@") && "text-muted",
          )}
        >
          {line}
        </span>
      ))}
    </pre>
  );
}
