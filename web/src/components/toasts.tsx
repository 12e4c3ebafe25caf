/** Short notices that go by themselves. A polite live region, so that they are read and steal nothing. */
import { X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { cx } from "../lib/cx";
import { IconButton } from "./Button";

interface Toast {
  id: number;
  text: string;
  tone: "plain" | "error";
}

let toasts: Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function toast(text: string, tone: Toast["tone"] = "plain"): void {
  lastId += 1;
  const id = lastId;
  change([...toasts.slice(-3), { id, text, tone }]);
  setTimeout(() => dismiss(id), tone === "error" ? 10_000 : 4_000);
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id));
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-40 flex max-w-[calc(100vw-32px)] flex-col gap-2 max-md:bottom-18"
    >
      {shown.map((each) => (
        <div
          key={each.id}
          className={cx(
            "pointer-events-auto flex max-w-sm items-start gap-2 rounded-card border bg-raised py-1.5 pr-1.5 pl-3 text-13 shadow-overlay",
            each.tone === "error" ? "border-dangerous/60" : "border-line",
          )}
        >
          <span className="min-w-0 flex-1 py-1 break-words">{each.text}</span>
          <IconButton
            icon={X}
            label="Dismiss"
            tip={false}
            size={14}
            className="size-7"
            onClick={() => dismiss(each.id)}
          />
        </div>
      ))}
    </div>
  );
}
