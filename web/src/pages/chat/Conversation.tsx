/**
 * The scrolling conversation. It follows the end while one is there, and goes there when one says something. Of a long
 * one only the turns near the screen are drawn, and always the last: it grows, and it may wait for a decision.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { KeptStates } from "../../components/kept";
import type { Turn } from "../../events/reducer";
import { cx } from "../../lib/cx";
import { TurnView } from "./TurnView";

const NEAR_PX = 48;
const VIRTUAL_FROM = 40;
const OVERSCAN = 4;

/** About how tall a turn is, until it was drawn once. */
function guessHeight(turn: Turn | undefined): number {
  if (!turn) return 0;
  let height = 100 + Math.ceil((turn.user?.text.length ?? 0) / 70) * 20;
  for (const part of turn.parts) {
    if (part.kind === "call") height += 33;
    else height += 12 + Math.ceil(part.text.length / 90) * 22 + (part.text.split("\n", 40).length - 1) * 14;
  }
  return height;
}

interface ConversationProps {
  turns: Turn[];
  /** What was sent from this tab, counted. */
  sent: number;
  children?: ReactNode;
}

export function Conversation({ turns, sent, children }: ConversationProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const lastTop = useRef(0);
  const [below, setBelow] = useState(false);
  const virtual = turns.length > VIRTUAL_FROM;
  const virtualizer = useVirtualizer({
    count: turns.length,
    enabled: virtual,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => guessHeight(turns[index]),
    getItemKey: (index) => turns[index]?.id ?? index,
    overscan: OVERSCAN,
  });

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

  const last = turns.length - 1;
  const items = virtual ? virtualizer.getVirtualItems().filter((item) => item.index < last) : [];
  const lastStart = virtual ? (virtualizer.measurementsCache[last]?.start ?? virtualizer.getTotalSize()) : 0;
  const above = items[0]?.start ?? 0;
  const between = virtual ? Math.max(0, lastStart - (items.at(-1)?.end ?? 0)) : 0;
  const drawn = virtual ? items.map((item) => item.index) : Array.from({ length: Math.max(0, last) }, (_, at) => at);

  const view = (index: number) => {
    const turn = turns[index];
    if (!turn) return null;
    return (
      <div key={turn.id} data-index={index} ref={virtual ? virtualizer.measureElement : undefined}>
        <TurnView turn={turn} last={index === last} />
      </div>
    );
  };

  const space = (key: string, height: number) => (height > 0 ? <div key={key} style={{ height }} /> : null);

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
        // The list corrects the position itself when turns above turn out taller; the browser must not do it again.
        className={cx("h-full overflow-y-auto px-4 md:px-6", virtual && "[overflow-anchor:none]")}
      >
        <div ref={content} data-turns={turns.length}>
          <KeptStates>
            {/* One list, in which a turn keeps its place when it stops being the last. */}
            {[space("above", above), ...drawn.map(view), space("between", between), view(last)]}
          </KeptStates>
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
