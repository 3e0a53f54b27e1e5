/*
 * Some rows of a snapshot, as a snapshot that has no others: what they hold is added up by the same
 * functions as all rows (figures.ts).
 */
import type { Amounts, Parts, Rows } from "./rows.ts";

function pickAmounts(amounts: Amounts | null, list: Int32Array): Amounts | null {
  return (
    amounts && {
      bytes: amounts.bytes.pick(list),
      count: amounts.count.pick(list),
      exactBytes: amounts.exactBytes.pick(list),
      exactCount: amounts.exactCount.pick(list),
      bytesVar: amounts.bytesVar.pick(list),
      countVar: amounts.countVar.pick(list),
    }
  );
}

/* The first part of this row or of a later one. */
function firstPart({ row, count }: Parts, wanted: number): number {
  let [from, to] = [0, count];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (row[middle] < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

function pickParts(parts: Parts | null, list: Int32Array): Parts | null {
  if (!parts) return null;
  const picked: number[] = [];
  const rows: number[] = [];
  list.forEach((row, i) => {
    for (let k = firstPart(parts, row); k < parts.count && parts.row[k] === row; k++) {
      picked.push(k);
      rows.push(i);
    }
  });
  const column = (values: Int32Array | null) => values && Int32Array.from(picked, (k) => values[k]);
  return {
    count: picked.length,
    row: Int32Array.from(rows),
    thread: column(parts.thread),
    type: column(parts.type),
    scope: column(parts.scope),
    age: column(parts.age),
    bytes: Float64Array.from(picked, (k) => parts.bytes[k]),
    objects: Float64Array.from(picked, (k) => parts.objects[k]),
  };
}

/* The rows with these indices, in this order. */
export function pickRows(rows: Rows, list: Int32Array): Rows {
  const { parts } = rows;
  return {
    count: list.length,
    node: list.map((row) => rows.node[row]),
    heap: list.map((row) => rows.heap[row]),
    headline: list.map((row) => rows.headline[row]),
    live: pickAmounts(rows.live, list),
    alloc: pickAmounts(rows.alloc, list),
    peak: pickAmounts(rows.peak, list),
    bytesVarUnit: rows.bytesVarUnit,
    inheritedBytesVar: rows.inheritedBytesVar && rows.inheritedBytesVar.pick(list),
    inheritedCountVar: rows.inheritedCountVar && rows.inheritedCountVar.pick(list),
    parts: {
      live: pickParts(parts.live, list),
      alloc: pickParts(parts.alloc, list),
      peak: pickParts(parts.peak, list),
    },
  };
}
