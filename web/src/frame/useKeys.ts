/** The keys that work everywhere, and moving through rows. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import type { FrameActions } from "./actions";
import { beginChord, endChord, inChord } from "./chord";
import { PLACES } from "./navigation";

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Moves the focus among what is marked `data-row`. */
function moveRow(step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  if (rows.length === 0) return false;
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = rows[at < 0 ? (step === 1 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return true;
}

export function useKeys(actions: FrameActions): void {
  const navigate = useNavigate();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        actions.openPalette();
        return;
      }
      if (
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        isTyping(event.target) ||
        document.querySelector("dialog[open]")
      )
        return;
      const afterG = inChord();
      endChord();
      const place = afterG ? PLACES.find((each) => each.key === event.key) : undefined;
      if (place) void navigate({ to: place.to });
      else if (event.key === "g") {
        beginChord();
        return;
      } else if (event.key === "?") actions.openKeys();
      else if (event.key === "j" || event.key === "k") {
        if (!moveRow(event.key === "j" ? 1 : -1)) return;
      } else if (event.key === "/") {
        const filter = document.querySelector<HTMLElement>("main [data-filter], main [data-composer]");
        if (!filter) return;
        filter.focus();
      } else if (event.key === "n") void navigate({ to: "/" });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [actions, navigate]);
}
