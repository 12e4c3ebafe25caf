/** The order of a table's rows. Pure. */
import type { Json, JsonObject } from "../../api/types";

export interface Order {
  key: string;
  falling: boolean;
}

const collator = new Intl.Collator("en-GB", { numeric: true, sensitivity: "base" });
/** Comparing as people do takes too long for more rows than this. */
const COLLATED_ROWS = 5_000;

/** Numbers by size, words as people sort them, what is missing last in either direction. The rows stay as they are. */
export function sortRows(rows: JsonObject[], order: Order | null): JsonObject[] {
  if (!order) return rows;
  const { key, falling } = order;
  const collate = rows.length <= COLLATED_ROWS;
  const keyed = rows.map((row) => ({ row, by: sortKey(row[key]) }));
  const sign = falling ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.by === null || b.by === null) return Number(a.by === null) - Number(b.by === null);
    if (typeof a.by === "number" && typeof b.by === "number") return sign * (a.by - b.by);
    // Numbers before words, where a column has both.
    if (typeof a.by !== typeof b.by) return sign * (typeof a.by === "number" ? -1 : 1);
    if (collate) return sign * collator.compare(a.by as string, b.by as string);
    return a.by === b.by ? 0 : sign * (a.by < b.by ? -1 : 1);
  });
  return keyed.map((each) => each.row);
}

function sortKey(value: Json | undefined): string | number | null {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return (typeof value === "string" ? value : JSON.stringify(value)).toLowerCase();
}
