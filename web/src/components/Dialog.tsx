/** Modal surfaces on the native dialog element: the browser holds the focus and hides the rest from readers. */
import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { cx } from "../lib/cx";
import { IconButton } from "./Button";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  footer?: ReactNode;
  /** `sheet` slides in from the right and fills a phone. */
  kind?: "dialog" | "sheet" | "palette";
  wide?: boolean;
}

export function Dialog({ open, onClose, title, children, footer, kind = "dialog", wide }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    if (open && !dialog.open) {
      dialog.showModal();
      // The first field, else the text: not the button that closes it.
      const first =
        dialog.querySelector<HTMLElement>("input, select, textarea") ??
        dialog.querySelector<HTMLElement>("[data-dialog-body]");
      first?.focus();
    }
    if (!open && dialog.open) dialog.close();
  }, [open]);
  if (!open) return null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={ref}
      aria-labelledby={heading}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
      className={cx(
        "flex flex-col border border-line bg-surface p-0 text-14 shadow-overlay",
        kind === "dialog" &&
          cx("max-h-[calc(100dvh-48px)] w-[calc(100vw-32px)] rounded-card", wide ? "max-w-[640px]" : "max-w-[440px]"),
        kind === "palette" && "mt-[12vh] max-h-[60dvh] w-[calc(100vw-32px)] max-w-[560px] rounded-card",
        kind === "sheet" &&
          cx("mr-0 h-dvh max-h-none w-full border-y-0 border-r-0", wide ? "max-w-[720px]" : "max-w-[520px]"),
      )}
    >
      {kind === "palette" ? (
        <>
          <h2 id={heading} className="sr-only">
            {title}
          </h2>
          {children}
        </>
      ) : (
        <>
          <header className="flex items-center justify-between gap-4 border-b border-line px-4 py-2">
            <h2 id={heading} className="truncate text-14 font-semibold">
              {title}
            </h2>
            <IconButton icon={X} label="Close" tip={false} onClick={onClose} />
          </header>
          <div
            data-dialog-body
            className="min-h-0 flex-1 overflow-y-auto p-4 outline-none"
            tabIndex={0}
            role="group"
            aria-labelledby={heading}
          >
            {children}
          </div>
          {footer && <footer className="flex justify-end gap-2 border-t border-line px-4 py-3">{footer}</footer>}
        </>
      )}
    </dialog>
  );
}
