/** What somebody opened stays open while its row is off the screen and not drawn. */
import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from "react";

const Kept = createContext<Map<string, boolean> | null>(null);

export function KeptStates({ children }: { children: ReactNode }) {
  const states = useRef(new Map<string, boolean>());
  return <Kept value={states.current}>{children}</Kept>;
}

/** Like a state, but it outlives the component where a list keeps such states. */
export function useKept(key: string, initial: boolean): [boolean, (value: boolean) => void] {
  const states = useContext(Kept);
  const [value, setValue] = useState(() => states?.get(key) ?? initial);
  const keep = useCallback(
    (next: boolean) => {
      states?.set(key, next);
      setValue(next);
    },
    [states, key],
  );
  return [value, keep];
}
