/*
 * The rows of a snapshot: what each stack holds in each heap, and the parts of the rows by thread,
 * type, scope and age. Made of a document "rows-S" (docs/PAGE.md).
 *
 * Ensures   the parts of a row add up to it: the last one, which the file leaves out, is filled in.
 */
import {
  addUp,
  checkRange,
  Column,
  figures,
  figuresOrNull,
  FormatError,
  indices,
  indicesOrNull,
  integers,
  partOf,
  sum,
} from "./columns.ts";
import { pickRows } from "./pick_rows.ts";
import { sortedBy } from "./sort.ts";
import type { Quantity, RawAmounts, RawColumn, RawParts, RawRows } from "./documents.ts";

/* Each is added up over rows. The sampled part of a figure is its value less the exact part. */
export interface Amounts {
  bytes: Column;
  count: Column;
  exactBytes: Column;
  exactCount: Column;
  /* in the unit Rows.bytesVarUnit */
  bytesVar: Column;
  countVar: Column;
}

export interface Parts {
  count: number;
  /* the row that each is a part of, ascending */
  row: Int32Array;
  /* null: not recorded. Below 0: see docs/PAGE.md */
  thread: Int32Array | null;
  type: Int32Array | null;
  scope: Int32Array | null;
  age: Int32Array | null;
  bytes: Float64Array;
  objects: Float64Array;
}

export interface Rows {
  count: number;
  /* ascending */
  node: Int32Array;
  heap: Int32Array;
  headline: Int32Array;
  /* null: not recorded */
  live: Amounts | null;
  alloc: Amounts | null;
  peak: Amounts | null;
  bytesVarUnit: number;
  /* Of what a forked process inherited, in bytes * bytes and in objects * objects; null: it has
   * none. If all are 0, they are not known. */
  inheritedBytesVar: Column | null;
  inheritedCountVar: Column | null;
  parts: Record<Quantity, Parts | null>;
}

/* How many of each there are that rows refer to: what of the profile rows need. */
export interface RowLimits {
  /* For each node of the file its number in the tree; null: the same. */
  tree: { count: number; places: Int32Array | null };
  heaps: { length: number };
  threads: { count: number };
  types: { count: number };
  scopes: { count: number };
  ages: { length: number };
}

function decodeAmounts(
  raw: RawAmounts,
  live: Amounts | null,
  count: number,
  name: string,
): Amounts {
  const column = (key: Exclude<keyof RawAmounts, "base">) =>
    figures(raw[key], count, `${name}.${key}`);
  const base = raw.base === undefined ? null : live;
  if (raw.base !== undefined && base === null) throw new FormatError(`${name} has no base`);
  const whole = (key: Exclude<keyof RawAmounts, "base">, of: keyof Amounts) =>
    base === null ? column(key) : sum(column(key), base[of], count);
  const bytes = whole("bytes", "bytes");
  const objects = whole("count", "count");
  return {
    bytes,
    count: objects,
    exactBytes: partOf(column("exact_bytes"), bytes, count),
    exactCount: partOf(column("exact_count"), objects, count),
    bytesVar: whole("bytes_var", "bytesVar"),
    countVar: whole("count_var", "countVar"),
  };
}

/* Gives the last part of each row what the others leave of the row's amount. */
function fillLast(row: Int32Array, values: Float64Array, whole: Column): void {
  let others = 0;
  for (let i = 0; i < row.length; i++) {
    if (i + 1 < row.length && row[i + 1] === row[i]) {
      others += values[i];
      continue;
    }
    values[i] = Math.max(0, whole.at(row[i]) - others);
    others = 0;
  }
}

function toArray(raw: RawColumn | undefined, count: number, name: string): Float64Array {
  const column = figures(raw, count, name);
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = column.at(i);
  return values;
}

function decodeParts(
  raw: RawParts | null,
  rows: { count: number; whole: Amounts },
  profile: RowLimits,
  name: string,
): Parts | null {
  if (raw === null || raw === undefined) return null;
  const count = raw.length;
  if (!Number.isInteger(count) || count < 0) throw new FormatError(`${name} has no length`);
  const row = addUp(integers(raw.row, count, `${name}.row`));
  checkRange(row, rows.count, `${name}.row`);
  const key = (column: string, limit: number, least: number) =>
    indicesOrNull(raw[column], count, limit, `${name}.${column}`, least);
  const bytes = toArray(raw["bytes"], count, `${name}.bytes`);
  const objects = toArray(raw["count"], count, `${name}.count`);
  fillLast(row, bytes, rows.whole.bytes);
  fillLast(row, objects, rows.whole.count);
  return {
    count,
    row,
    thread: key("thread", profile.threads.count, -1),
    type: key("type", profile.types.count, -1),
    scope: key("scope", profile.scopes.count, -2),
    age: key("age", profile.ages.length, -1),
    bytes,
    objects,
  };
}

/* The rows of nodes whose places have changed, in the order of those. */
function placedRows(rows: Rows, places: Int32Array): Rows {
  const { node, count } = rows;
  const placed = new Float64Array(count);
  for (let row = 0; row < count; row++) placed[row] = node[row] = places[node[row]];
  return pickRows(rows, sortedBy(count, placed, false));
}

export function decodeRows(raw: RawRows, profile: RowLimits): Rows {
  const count = raw.count;
  const node = addUp(integers(raw.node, count, "rows.node"));
  checkRange(node, profile.tree.count, "rows.node");
  const amounts = (quantity: Quantity, base: Amounts | null) => {
    const columns = raw[quantity];
    return columns ? decodeAmounts(columns, base, count, quantity) : null;
  };
  const live = amounts("live", null);
  const alloc = amounts("alloc", live);
  const peak = amounts("peak", live);
  const parts = (quantity: Quantity, whole: Amounts | null) =>
    whole && decodeParts(raw.parts[quantity], { count, whole }, profile, `parts.${quantity}`);
  const rows = {
    count,
    node,
    heap: indices(raw.heap, count, profile.heaps.length, "rows.heap"),
    headline: integers(raw.headline, count, "rows.headline"),
    live,
    alloc,
    peak,
    bytesVarUnit: raw.bytes_var_unit,
    inheritedBytesVar: figuresOrNull(raw.inherited_bytes_var, count, "inherited_bytes_var"),
    inheritedCountVar: figuresOrNull(raw.inherited_count_var, count, "inherited_count_var"),
    parts: {
      live: parts("live", live),
      alloc: parts("alloc", alloc),
      peak: parts("peak", peak),
    },
  };
  return profile.tree.places ? placedRows(rows, profile.tree.places) : rows;
}
