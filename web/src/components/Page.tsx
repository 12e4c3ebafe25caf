import type { ReactNode } from "react";

/** A page with a heading row; the rest scrolls. */
export function Page({
  title,
  actions,
  children,
  below,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  below?: ReactNode;
}) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex min-h-12 flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-3 pb-2 md:px-6">
        <h1 className="min-w-0 truncate text-20 font-semibold tracking-tight">{title}</h1>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {below}
      <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
    </div>
  );
}

export function Card({
  title,
  actions,
  children,
  className,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`min-w-0 rounded-card border border-line bg-surface ${className ?? ""}`}>
      {title && (
        <header className="flex min-h-10 items-center justify-between gap-2 border-b border-line px-4 py-1">
          <h2 className="text-13 font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** Name and value pairs. */
export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[minmax(96px,max-content)_1fr] gap-x-6 gap-y-1.5 text-13">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
