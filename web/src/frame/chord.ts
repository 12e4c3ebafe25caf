/** `g` and then a key goes to a page. Whoever takes single keys asks first whether one belongs to that. */
const CHORD_MS = 1200;
let pressedG = 0;

export function beginChord(): void {
  pressedG = Date.now();
}

export function inChord(): boolean {
  return Date.now() - pressedG < CHORD_MS;
}

export function endChord(): void {
  pressedG = 0;
}
