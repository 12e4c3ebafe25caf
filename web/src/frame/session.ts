/** Who is signed in. Below the frame there is always somebody. */
import { createContext, useContext } from "react";
import type { Me } from "../api/types";

export const MeContext = createContext<Me | null>(null);

export function useMe(): Me {
  const me = useContext(MeContext);
  if (!me) throw new Error("useMe needs a signed-in frame around it");
  return me;
}
