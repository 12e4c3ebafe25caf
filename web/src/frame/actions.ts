/** What pages ask of the frame. */
import { createContext, useContext } from "react";

export interface FrameActions {
  openPalette: () => void;
  openKeys: () => void;
  addHost: () => void;
}

export const FrameContext = createContext<FrameActions>({
  openPalette: () => {},
  openKeys: () => {},
  addHost: () => {},
});
export const useFrame = (): FrameActions => useContext(FrameContext);
