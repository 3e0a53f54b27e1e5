/*
 * Some rows of a snapshot, as a snapshot that has no others: what they hold is added up by the same
 * functions as all rows (figures.ts).
 */
import { pickFigures, pickIntegers, type Column } from "./columns.ts";
import type { Amounts, Parts, Rows } from "./rows.ts";

type Pick = (column: Column) => Column;

/* Columns that are one are one again. */
function picker(list: Int32Array): Pick {
  const picked = new Map<Column, Column>();
  return (column) => {
    const known = picked.get(column) ?? column.pick(list);
    picked.set(column, known);
    return known;
  };
}

function pickAmounts(amounts: Amounts | null, pick: Pick): Amounts | null {
  return (
    amounts && {
      bytes: pick(amounts.bytes),
      count: pick(amounts.count),
      exactBytes: pick(amounts.exactBytes),
      exactCount: pick(amounts.exactCount),
      bytesVar: pick(amounts.bytesVar),
      countVar: pick(amounts.countVar),
    }
  );
}

/* Where the parts of each row of the list begin. */
function firstParts({ row, count }: Parts, list: Int32Array): Int32Array {
  const first = new Int32Array(list.length);
  if (list.length > 1000) {
    const ofRow = new Int32Array(count === 0 ? 0 : row[count - 1] + 1).fill(count);
    for (let k = count - 1; k >= 0; k--) ofRow[row[k]] = k;
    for (let i = 0; i < list.length; i++) first[i] = ofRow[list[i]] ?? count;
    return first;
  }
  for (let i = 0; i < list.length; i++) {
    let [from, to] = [0, count];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (row[middle] < list[i]) from = middle + 1;
      else to = middle;
    }
    first[i] = from;
  }
  return first;
}

function pickParts(parts: Parts | null, list: Int32Array): Parts | null {
  if (!parts) return null;
  const first = firstParts(parts, list);
  const isOf = (k: number, row: number) => k < parts.count && parts.row[k] === row;
  let count = 0;
  for (let i = 0; i < list.length; i++) for (let k = first[i]; isOf(k, list[i]); k++) count++;
  const picked = new Int32Array(count);
  const row = new Int32Array(count);
  for (let i = 0, at = 0; i < list.length; i++) {
    for (let k = first[i]; isOf(k, list[i]); k++) {
      picked[at] = k;
      row[at++] = i;
    }
  }
  const column = (values: Int32Array | null) => values && pickIntegers(values, picked);
  return {
    count,
    row,
    thread: column(parts.thread),
    type: column(parts.type),
    scope: column(parts.scope),
    age: column(parts.age),
    bytes: pickFigures(parts.bytes, picked),
    objects: pickFigures(parts.objects, picked),
  };
}

/* The rows with these indices, in this order. */
export function pickRows(rows: Rows, list: Int32Array): Rows {
  const { parts } = rows;
  const pick = picker(list);
  return {
    count: list.length,
    node: pickIntegers(rows.node, list),
    heap: pickIntegers(rows.heap, list),
    headline: pickIntegers(rows.headline, list),
    live: pickAmounts(rows.live, pick),
    alloc: pickAmounts(rows.alloc, pick),
    peak: pickAmounts(rows.peak, pick),
    bytesVarUnit: rows.bytesVarUnit,
    inheritedBytesVar: rows.inheritedBytesVar && pick(rows.inheritedBytesVar),
    inheritedCountVar: rows.inheritedCountVar && pick(rows.inheritedCountVar),
    parts: {
      live: pickParts(parts.live, list),
      alloc: pickParts(parts.alloc, list),
      peak: pickParts(parts.peak, list),
    },
  };
}
