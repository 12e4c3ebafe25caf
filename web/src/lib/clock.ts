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
export const useSeconds = (): number => useSyncExternalStore(seconds.subscribe, seconds.get);
/** The time in milliseconds, moving each quarter of a minute. */
export const useNow = (): number => useSyncExternalStore(slow.subscribe, slow.get);
