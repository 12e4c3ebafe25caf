/** A menu or panel beside its button, on the native popover: light dismissal, Escape and the top layer come with it. */
import { type KeyboardEvent, type ReactNode, useCallback, useId, useRef } from "react";
import { cx } from "../lib/cx";

interface PopoverProps {
  /** Renders the button; spread the properties on it. */
  button: (properties: { popoverTarget: string; "aria-haspopup": "menu" | "dialog" }) => ReactNode;
  label: string;
  children: ReactNode | ((close: () => void) => ReactNode);
  role?: "menu" | "dialog";
  align?: "start" | "end";
  className?: string;
}

const GAP = 4;
const EDGE = 8;

export function Popover({ button, label, children, role = "menu", align = "end", className }: PopoverProps) {
  const id = useId();
  const ref = useRef<HTMLDivElement>(null);
  const close = useCallback(() => ref.current?.hidePopover(), []);

  const place = () => {
    const panel = ref.current;
    const anchor = document.querySelector<HTMLElement>(`[popovertarget="${CSS.escape(id)}"]`);
    if (!panel || !anchor) return;
    const at = anchor.getBoundingClientRect();
    const size = panel.getBoundingClientRect();
    const below = at.bottom + GAP;
    const top = below + size.height > innerHeight - EDGE ? Math.max(EDGE, at.top - GAP - size.height) : below;
    const left = align === "end" ? at.right - size.width : at.left;
    panel.style.top = `${top}px`;
    panel.style.left = `${Math.max(EDGE, Math.min(left, innerWidth - size.width - EDGE))}px`;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (role !== "menu" || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const items = [...(ref.current?.querySelectorAll<HTMLElement>("[role^=menuitem]:not(:disabled)") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const last = items.length - 1;
    const next =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? last
          : event.key === "ArrowDown"
            ? (at + 1) % items.length
            : at <= 0
              ? last
              : at - 1;
    items[next]?.focus();
  };

  return (
    <>
      {button({ popoverTarget: id, "aria-haspopup": role })}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it is a menu or a dialog, as its role says */}
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: the same */}
      <div
        ref={ref}
        id={id}
        popover="auto"
        role={role}
        aria-label={label}
        onKeyDown={onKeyDown}
        onToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          ref.current?.querySelector<HTMLElement>("[role^=menuitem]:not(:disabled), input, select, button")?.focus();
        }}
        className={cx(
          "fixed m-0 min-w-44 rounded-card border border-line bg-raised p-1 text-13 text-text shadow-overlay",
          className,
        )}
      >
        {typeof children === "function" ? children(close) : children}
      </div>
    </>
  );
}

interface MenuItemProps {
  children: ReactNode;
  onSelect: () => void;
  icon?: ReactNode;
  danger?: boolean;
  checked?: boolean;
  disabled?: boolean;
}

export function MenuItem({ children, onSelect, icon, danger, checked, disabled }: MenuItemProps) {
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: only a radio item has the state
    <button
      type="button"
      role={checked === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={checked}
      disabled={disabled}
      onClick={(event) => {
        event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
        onSelect();
      }}
      className={cx(
        "flex h-8 w-full items-center gap-2 rounded-control px-2 text-left hover:bg-line/60 focus-visible:bg-line/60 disabled:opacity-50",
        danger && "text-danger-text",
      )}
    >
      {icon}
      <span className="flex-1 truncate">{children}</span>
      {checked && <span className="size-1.5 rounded-full bg-accent" aria-hidden />}
    </button>
  );
}
