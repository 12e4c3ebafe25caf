/** The designed states of a page: empty, loading, failed. */
import { type LucideIcon, RotateCcw, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { messageOf } from "../api/client";
import { Button } from "./Button";

export function Empty({
  icon: Icon,
  title,
  children,
  action,
  alone,
}: {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** It is all that the page shows. */
  alone?: boolean;
}) {
  const Heading = alone ? "h1" : "h2";
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-6 py-16 text-center">
      <Icon aria-hidden size={20} className="text-muted" />
      <Heading className="text-16 font-semibold">{title}</Heading>
      {children && <div className="text-13 text-muted">{children}</div>}
      {action && <div className="mt-1 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

export function Failed({
  what,
  error,
  kept,
  onRetry,
}: {
  what: string;
  error: unknown;
  kept?: string;
  onRetry?: () => void;
}) {
  return (
    <div
      role="alert"
      className="m-4 flex flex-wrap items-start gap-3 rounded-card border border-dangerous/40 bg-surface p-4"
    >
      <TriangleAlert aria-hidden size={16} className="mt-0.5 shrink-0 text-dangerous" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{what}</p>
        <p className="text-13 break-words text-muted">
          {messageOf(error)} {kept}
        </p>
      </div>
      {onRetry && (
        <Button icon={RotateCcw} onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function SkeletonRows({ rows = 6, height = 36 }: { rows?: number; height?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-2 p-4">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="skeleton" style={{ height: height - 12, width: `${94 - ((index * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
