/** The scrolling conversation. It follows the end while one is there, and goes there when one says something. */
import { ArrowDown } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Turn } from "../../events/reducer";
import { TurnView } from "./TurnView";

const NEAR_PX = 48;

/** `sent` counts what was sent from this tab. */
export function Conversation({ turns, sent, children }: { turns: Turn[]; sent: number; children?: ReactNode }) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const lastTop = useRef(0);
  const [below, setBelow] = useState(false);

  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
    following.current = true;
    setBelow(false);
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: one's own message is where one wants to be
  useLayoutEffect(() => {
    toEnd();
  }, [toEnd, sent]);

  useEffect(() => {
    const inner = content.current;
    if (!inner) return;
    const observer = new ResizeObserver(() => {
      if (following.current) toEnd();
    });
    observer.observe(inner);
    return () => observer.disconnect();
  }, [toEnd]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: something new came when the turns changed
  useEffect(() => {
    if (!following.current) setBelow(true);
  }, [turns]);

  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    // What grew since the last scroll isn't the reader's doing: only going up is.
    if (atEnd) following.current = true;
    else if (element.scrollTop < lastTop.current) following.current = false;
    lastTop.current = element.scrollTop;
    if (atEnd) setBelow(false);
  };

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
        className="h-full overflow-y-auto px-4 md:px-6"
      >
        <div ref={content}>
          {turns.map((turn, index) => (
            <TurnView key={turn.id} turn={turn} last={index === turns.length - 1} />
          ))}
          {children}
        </div>
      </div>
      {below && (
        <button
          type="button"
          onClick={toEnd}
          className="absolute bottom-2 left-1/2 flex h-7 -translate-x-1/2 items-center gap-1 rounded-full border border-line bg-raised px-3 text-12 shadow-overlay"
        >
          <ArrowDown aria-hidden size={12} /> New below
        </button>
      )}
    </div>
  );
}
