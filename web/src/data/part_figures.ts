/*
 * What is selected, as a list of entries: each is what one stack holds in one heap, of one thread,
 * type, scope and age, as far as the file records them. Sums by any of these are sums of entries.
 *
 * Ensures   the entries of a row add up to the row, in value, exact part and variance.
 */
import { addRows, familiesOf, newFigures, type Figures } from "./figures.ts";
import type { Quantity } from "./documents.ts";
import type { Profile } from "./profile.ts";
import type { Parts } from "./rows.ts";
import type { Stacks } from "./select_stacks.ts";
import {
  PART_KEYS,
  unknownParts,
  type LoadedRows,
  type PartKey,
  type Selection,
} from "./selection.ts";

/* Of an entry: the property was not recorded. Others below 0: see docs/PAGE.md. */
export const UNRECORDED = -9;

export interface Entries {
  count: number;
  figures: Figures;
  /* The shown node of the call tree that the entry counts for. */
  node: Int32Array;
  /* The shown node whose function the report accounts it to. */
  headline: Int32Array;
  heap: Int32Array;
  process: Int32Array;
  parts: Record<PartKey, Int32Array>;
  /* What `parts` has for a property that no row records. */
  unrecorded: Int32Array;
  stacks: Stacks;
}

function newEntries(count: number, isPeak: boolean, stacks: Stacks): Entries {
  const column = () => new Int32Array(count);
  /* Most files do not record all properties: those share one array. */
  const unrecorded = column().fill(UNRECORDED);
  return {
    count: 0,
    figures: newFigures(count, isPeak),
    node: column(),
    headline: column(),
    heap: column(),
    process: column(),
    parts: { thread: unrecorded, type: unrecorded, scope: unrecorded, age: unrecorded },
    unrecorded,
    stacks,
  };
}

/* For each row, whether it has parts. */
function rowsWithParts({ rows }: LoadedRows, quantity: Quantity): Uint8Array {
  const hasParts = new Uint8Array(rows.count);
  const parts = rows.parts[quantity];
  if (parts) for (let k = 0; k < parts.count; k++) hasParts[parts.row[k]] = 1;
  return hasParts;
}

/* The most entries that these rows can have. */
function mostEntries({ rows }: LoadedRows, quantity: Quantity, hasParts: Uint8Array): number {
  let count = rows.parts[quantity]?.count ?? 0;
  for (let row = 0; row < rows.count; row++) if (hasParts[row] === 0) count++;
  return count;
}

const withoutParts = (selection: Selection): Selection => ({
  ...selection,
  parts: { thread: null, type: null, scope: null, age: null },
});

/* The shown node whose function a row counts for, or the row's own where filters hide that one. */
export function headlineOf(
  profile: Profile,
  stacks: Stacks,
  each: LoadedRows,
  row: number,
): number {
  const { parent } = profile.tree;
  const own = each.rows.node[row];
  let node = own;
  for (let up = each.rows.headline[row]; up > 0 && parent[node] >= 0; up--) node = parent[node];
  return stacks.owner[node] >= 0 ? stacks.owner[node] : stacks.owner[own];
}

interface Filter {
  column: Int32Array;
  value: number;
}

function filtersOf(parts: Parts | null, selection: Selection): Filter[] {
  return PART_KEYS.flatMap((key) => {
    const column = parts?.[key];
    const value = selection.parts[key];
    return column && value !== null ? [{ column, value }] : [];
  });
}

interface RowOf {
  each: LoadedRows;
  figures: Figures;
  selection: Selection;
  /* The columns of the figures of rows, and those of the entries. */
  from: readonly Float64Array[];
  to: readonly Float64Array[];
}

function addShare(entries: Entries, i: number, of: RowOf, row: number, share: number): void {
  const { from, to, figures } = of;
  for (let c = 0; c < from.length; c++) to[c][i] += from[c][row] * share;
  const { weight } = entries.figures;
  if (figures.weight[row] > weight[i]) weight[i] = figures.weight[row];
}

function addEntry(entries: Entries, profile: Profile, of: RowOf, row: number): number {
  const { rows, snapshot } = of.each;
  const i = entries.count++;
  entries.node[i] = entries.stacks.owner[rows.node[row]];
  entries.headline[i] = headlineOf(profile, entries.stacks, of.each, row);
  entries.heap[i] = rows.heap[row];
  entries.process[i] = snapshot.process;
  return i;
}

/* The entries of the parts of the rows. */
function addParts(entries: Entries, profile: Profile, of: RowOf): void {
  const { rows } = of.each;
  const { quantity, isCount } = of.selection.measure;
  const parts = rows.parts[quantity];
  if (!parts) return;
  const wanted = filtersOf(parts, of.selection);
  const values = isCount ? parts.objects : parts.bytes;
  const recorded = PART_KEYS.flatMap((key) => {
    const column = parts[key];
    if (column && entries.parts[key] === entries.unrecorded) {
      entries.parts[key] = entries.unrecorded.slice();
    }
    return column ? [{ from: column, to: entries.parts[key] }] : [];
  });
  for (let k = 0; k < parts.count; k++) {
    const row = parts.row[k];
    const whole = of.figures.value[row];
    if (whole === 0 || values[k] === 0 || entries.stacks.owner[rows.node[row]] < 0) continue;
    if (!wanted.every(({ column, value }) => column[k] === value)) continue;
    const i = addEntry(entries, profile, of, row);
    for (const { from, to } of recorded) to[i] = from[k];
    addShare(entries, i, of, row, values[k] / whole);
  }
}

/* What each row holds of the selection, without its filters by parts. */
function rowFigures(
  profile: Profile,
  each: LoadedRows,
  selection: Selection,
  family: ReturnType<typeof familiesOf>[number],
): Figures {
  const { quantity, isCount } = selection.measure;
  const { count } = each.rows;
  const figures = newFigures(count, quantity === "peak" && !isCount);
  const ownRow = new Int32Array(count);
  for (let row = 0; row < count; row++) ownRow[row] = row;
  addRows(figures, profile, each, withoutParts(selection), ownRow, family);
  return figures;
}

/* The selection as entries; `stacks` are what the filters of stacks leave. */
export function entriesOf(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  stacks: Stacks,
): Entries {
  const { quantity, isCount } = selection.measure;
  const hasParts = loaded.map((each) => rowsWithParts(each, quantity));
  const most = loaded.reduce((sum, each, n) => sum + mostEntries(each, quantity, hasParts[n]), 0);
  const entries = newEntries(most, quantity === "peak" && !isCount, stacks);
  const isPartOnly = PART_KEYS.some((key) => selection.parts[key] !== null);
  const families = familiesOf(profile, loaded);
  loaded.forEach((each, n) => {
    const { rows } = each;
    if (!rows[quantity] || unknownParts(rows, selection).length > 0) return;
    const figures = rowFigures(profile, each, selection, families[n]);
    const [from, to] = [addedColumns(figures), addedColumns(entries.figures)];
    const of: RowOf = { each, figures, selection, from, to };
    addParts(entries, profile, of);
    if (isPartOnly) return;
    for (let row = 0; row < rows.count; row++) {
      if (hasParts[n][row] || figures.value[row] === 0) continue;
      if (stacks.owner[rows.node[row]] < 0) continue;
      addShare(entries, addEntry(entries, profile, of, row), of, row, 1);
    }
  });
  return entries;
}

/* The columns of figures that are added up. */
export function addedColumns({ value, sampled, variance, peak }: Figures): Float64Array[] {
  return [value, sampled, variance, ...(peak ? [peak.excess, peak.lean, peak.common] : [])];
}

/* Adds up figures by a key of each, of which there are `count`; keys below 0 are left out. */
export function sumsBy(
  figures: Figures,
  length: number,
  count: number,
  keyOf: (i: number) => number,
): Figures {
  const sums = newFigures(count, figures.peak !== null);
  const from = addedColumns(figures);
  const to = addedColumns(sums);
  for (let i = 0; i < length; i++) {
    const key = keyOf(i);
    if (key < 0) continue;
    for (let c = 0; c < from.length; c++) to[c][key] += from[c][i];
    if (figures.weight[i] > sums.weight[key]) sums.weight[key] = figures.weight[i];
  }
  return sums;
}
