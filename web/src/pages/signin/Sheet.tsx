import type { ReactNode } from "react";

/** The quiet page on which one signs in. */
export function Sheet({ title, lead, children }: { title: string; lead: ReactNode; children: ReactNode }) {
  return (
    <main className="flex min-h-dvh items-center justify-center bg-bg p-4">
      <div className="w-full max-w-[360px]">
        <div className="mb-6 flex items-center gap-2">
          <svg viewBox="0 0 24 24" className="size-6" aria-hidden="true">
            <path
              d="M3 12h4.2l2.4-6 4.6 12 2.4-6H21"
              fill="none"
              className="stroke-accent"
              strokeWidth="2.2"
              strokeLinecap="round"
              strokeLinejoin="round"
            />
          </svg>
          <span className="font-semibold tracking-tight">Steadyhand</span>
        </div>
        <h1 className="text-20 font-semibold tracking-tight">{title}</h1>
        <p className="mt-1 mb-6 text-13 text-muted">{lead}</p>
        {children}
      </div>
    </main>
  );
}
