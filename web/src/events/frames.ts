/** When what came is shown: once a frame, and on a slow machine only as often as leaves time for typing. */

/** A tab that nobody sees draws nothing, but must know what came when somebody looks. */
const HIDDEN_MS = 250;
/** Drawing that takes no longer, which is about two frames, holds nothing up. */
const QUICK_MS = 32;
const LONGEST_PAUSE_MS = 100;

let freeAt = 0;

/**
 * Looks at the clock when the frame that begins is painted: before the next task and the next frame. Both are waited
 * for, since a busy browser puts off tasks while keys come.
 */
function noteCost(began: number): void {
  let noted = false;
  const note = () => {
    if (noted) return;
    noted = true;
    const now = performance.now();
    const took = now - began;
    freeAt = took > QUICK_MS ? now + Math.min(took / 2, LONGEST_PAUSE_MS) : now;
  };
  setTimeout(note);
  requestAnimationFrame(note);
}

/**
 * Calls back once before the next frame is drawn. Where drawing takes long, the page is left alone for half as long again:
 * keys and clicks then have that time for themselves.
 */
export function nextFrame(callback: () => void): void {
  let done = false;
  const once = () => {
    if (done) return;
    done = true;
    const began = performance.now();
    callback();
    noteCost(began);
  };
  const pause = Math.max(0, freeAt - performance.now());
  setTimeout(once, pause + HIDDEN_MS);
  if (document.hidden) return;
  if (pause > 1) setTimeout(() => requestAnimationFrame(once), pause);
  else requestAnimationFrame(once);
}
