/** Ids and times of the stand-in. Times are relative to its start, so that pages look lived in. */
const started = Date.now();
export const ago = (seconds: number): string => new Date(started - seconds * 1000).toISOString();

let lastId = 0;
export function newId(): string {
  lastId += 1;
  return `0197a4c2-${(lastId >> 16).toString(16).padStart(4, "0")}-7${(lastId & 0xfff).toString(16).padStart(3, "0")}-8a00-5d3f00000000`;
}

export const hex = (seed: number): string => (seed * 2654435761).toString(16).padStart(8, "0").slice(0, 8).repeat(8);
