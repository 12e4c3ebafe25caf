import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ComponentProps } from "react";
import { cx } from "../lib/cx";

type Look = "primary" | "plain" | "quiet" | "danger";

const LOOKS: Record<Look, string> = {
  primary: "bg-accent text-on-accent border-transparent hover:brightness-110",
  plain: "bg-raised text-text border-line hover:border-muted/50",
  quiet: "bg-transparent text-muted border-transparent hover:bg-raised hover:text-text",
  danger: "bg-transparent text-danger-text border-dangerous/50 hover:bg-dangerous/10",
};

export interface ButtonProps extends ComponentProps<"button"> {
  look?: Look;
  icon?: LucideIcon;
  busy?: boolean;
  /** Why it can't be used; disables it and tells the reason. */
  reason?: string | null;
  size?: "small" | "normal";
}

export function Button({
  look = "plain",
  icon: Icon,
  busy,
  reason,
  size = "normal",
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  const Shown = busy ? LoaderCircle : Icon;
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy || Boolean(reason)}
      title={reason ?? rest.title}
      className={cx(
        "inline-flex items-center justify-center gap-1.5 rounded-control border font-medium whitespace-nowrap transition-colors disabled:opacity-50",
        size === "small" ? "h-7 px-2 text-12" : "h-8 px-3 text-13",
        LOOKS[look],
        className,
      )}
    >
      {Shown && <Shown aria-hidden size={14} className={busy ? "animate-spin" : undefined} />}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ComponentProps<"button">, "children"> {
  icon: LucideIcon;
  label: string;
  tip?: boolean;
  tipSide?: "top" | "right" | "left";
  pressed?: boolean;
  size?: number;
}

export function IconButton({
  icon: Icon,
  label,
  tip = true,
  tipSide,
  pressed,
  size = 16,
  className,
  ...rest
}: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-pressed={pressed}
      data-tip={tip ? label : undefined}
      data-tip-side={tipSide}
      {...rest}
      className={cx(
        "inline-flex shrink-0 items-center justify-center rounded-control transition-colors hover:bg-raised hover:text-text disabled:opacity-40",
        pressed ? "bg-raised text-text" : "text-muted",
        !/\b(size|w)-\d/.test(className ?? "") && "size-8",
        className,
      )}
    >
      <Icon aria-hidden size={size} />
    </button>
  );
}
