import { useSyncExternalStore } from "react";
import { recall, remember } from "./storage";

export type ThemeChoice = "system" | "dark" | "light";

const systemLight = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: light)") : null;
const listeners = new Set<() => void>();

function read(): ThemeChoice {
  const stored = recall("theme");
  return stored === "dark" || stored === "light" ? stored : "system";
}

let choice: ThemeChoice = read();

function show(): void {
  const light = choice === "light" || (choice === "system" && systemLight?.matches);
  document.documentElement.dataset.theme = light ? "light" : "dark";
}

systemLight?.addEventListener("change", show);

export function chooseTheme(next: ThemeChoice): void {
  choice = next;
  remember("theme", next === "system" ? null : next);
  show();
  for (const listener of listeners) listener();
}

export function useTheme(): ThemeChoice {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => choice,
  );
}
