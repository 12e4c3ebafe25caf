import { type KeyboardEvent, useRef } from "react";
import { cx } from "../lib/cx";

interface TabsProps<T extends string> {
  label: string;
  tabs: { id: T; name: string }[];
  current: T;
  onChange: (tab: T) => void;
}

/** Tabs that switch what is below; arrow keys move between them. */
export function Tabs<T extends string>({ label, tabs, current, onChange }: TabsProps<T>) {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.id === current);
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = step === 0 ? undefined : tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    onChange(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div
      ref={list}
      role="tablist"
      aria-label={label}
      onKeyDown={onKeyDown}
      className="flex gap-1 overflow-x-auto border-b border-line px-4 md:px-6"
    >
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          data-tab={tab.id}
          aria-selected={tab.id === current}
          tabIndex={tab.id === current ? 0 : -1}
          onClick={() => onChange(tab.id)}
          className={cx(
            "-mb-px h-9 border-b-2 px-3 text-13 whitespace-nowrap",
            tab.id === current ? "border-accent text-text" : "border-transparent text-muted hover:text-text",
          )}
        >
          {tab.name}
        </button>
      ))}
    </div>
  );
}
