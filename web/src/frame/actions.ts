/** What pages ask of the frame. */
import { createContext, useContext } from "react";

export interface FrameActions {
  openPalette: () => void;
  openKeys: () => void;
  addHost: () => void;
  /** Asks whether to freeze changes. */
  freeze: () => void;
}

export const FrameContext = createContext<FrameActions>({
  openPalette: () => {},
  openKeys: () => {},
  addHost: () => {},
  freeze: () => {},
});
export const useFrame = (): FrameActions => useContext(FrameContext);
