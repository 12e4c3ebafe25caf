/** One ticking clock for all relative times and countdowns on the page. */
import { useSyncExternalStore } from "react";

function ticker(everyMs: number) {
  let now = Date.now();
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    subscribe: (listener: () => void) => {
      if (listeners.size === 0) {
        now = Date.now();
        timer = setInterval(() => {
          now = Date.now();
          for (const each of listeners) each();
        }, everyMs);
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) clearInterval(timer);
      };
    },
    get: () => (listeners.size === 0 ? Math.floor(Date.now() / everyMs) * everyMs : now),
  };
}

const seconds = ticker(1_000);
const slow = ticker(15_000);

/** The time in milliseconds, moving each second. */
export const useSeconds = (): number => useSyncExternalStore(seconds.subscribe, seconds.get, seconds.get);
/** The time in milliseconds, moving each quarter of a minute. */
export const useNow = (): number => useSyncExternalStore(slow.subscribe, slow.get, slow.get);

let skewMs = 0;

/** Learns from an answer's `date` what time it is at the manager: deadlines are by its clock, and phones are off. */
export function noteServerTime(date: string | null): void {
  const at = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(at)) return;
  // The header has whole seconds, so half a second is as near as it gets; less than two isn't worth telling.
  const skew = at + 500 - Date.now();
  skewMs = Math.abs(skew) < 2_000 ? 0 : skew;
}

/** The manager's time in milliseconds. */
export const serverNow = (): number => Date.now() + skewMs;
/** The same, moving each second. */
export const useServerSeconds = (): number => useSeconds() + skewMs;
