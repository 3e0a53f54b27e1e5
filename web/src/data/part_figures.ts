/*
 * What is selected, as a list of entries: each is what one stack holds in one heap, of one thread,
 * type, scope and age, as far as the file records them. Sums by any of these are sums of entries.
 *
 * Ensures   the entries of a row add up to the row, in value, exact part and variance.
 */
import { addRows, familiesOf, newFigures, type Figures } from "./figures.ts";
import type { Profile } from "./profile.ts";
import type { Parts } from "./rows.ts";
import { filterStacks, type Stacks } from "./select_stacks.ts";
import type { StackFilter } from "./select_filters.ts";
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
  stacks: Stacks;
}

function newEntries(count: number, isPeak: boolean, stacks: Stacks): Entries {
  const column = () => new Int32Array(count).fill(UNRECORDED);
  return {
    count: 0,
    figures: newFigures(count, isPeak),
    node: column(),
    headline: column(),
    heap: column(),
    process: column(),
    parts: { thread: column(), type: column(), scope: column(), age: column() },
    stacks,
  };
}

const withoutParts = (selection: Selection): Selection => ({
  ...selection,
  parts: { thread: null, type: null, scope: null, age: null },
});

/* The node whose function row `row` counts for, or the row's own where filters hide that one. */
function headlineOf(profile: Profile, stacks: Stacks, each: LoadedRows, row: number): number {
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

/* The entries of the parts of the rows; marks the rows that have parts. */
function addParts(entries: Entries, profile: Profile, of: RowOf, hasParts: Uint8Array): void {
  const { rows } = of.each;
  const { quantity, isCount } = of.selection.measure;
  const parts = rows.parts[quantity];
  if (!parts) return;
  const wanted = filtersOf(parts, of.selection);
  const values = isCount ? parts.objects : parts.bytes;
  for (let k = 0; k < parts.count; k++) {
    const row = parts.row[k];
    hasParts[row] = 1;
    const whole = of.figures.value[row];
    if (whole === 0 || values[k] === 0 || entries.stacks.owner[rows.node[row]] < 0) continue;
    if (!wanted.every(({ column, value }) => column[k] === value)) continue;
    const i = addEntry(entries, profile, of, row);
    for (const key of PART_KEYS) {
      const column = parts[key];
      if (column) entries.parts[key][i] = column[k];
    }
    addShare(entries, i, of, row, values[k] / whole);
  }
}

/* The selection as entries; `filters` are those of stacks. */
export function entriesOf(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  stacks: Stacks,
): Entries {
  const { quantity, isCount } = selection.measure;
  const isPeak = quantity === "peak" && !isCount;
  const most = loaded.reduce(
    (sum, { rows }) => sum + rows.count + (rows.parts[quantity]?.count ?? 0),
    0,
  );
  const entries = newEntries(most, isPeak, stacks);
  const families = familiesOf(profile, loaded);
  loaded.forEach((each, n) => {
    const { rows } = each;
    if (!rows[quantity] || unknownParts(rows, selection).length > 0) return;
    const figures = newFigures(rows.count, isPeak);
    const ownRow = Int32Array.from({ length: rows.count }, (_, i) => i);
    addRows(figures, profile, each, withoutParts(selection), ownRow, families[n]);
    const of: RowOf = {
      each,
      figures,
      selection,
      from: addedColumns(figures),
      to: addedColumns(entries.figures),
    };
    const hasParts = new Uint8Array(rows.count);
    addParts(entries, profile, of, hasParts);
    if (PART_KEYS.some((key) => selection.parts[key] !== null)) return;
    for (let row = 0; row < rows.count; row++) {
      if (hasParts[row] || figures.value[row] === 0) continue;
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

/* The stacks that the filters leave; remembered, because all views and measures use the same. */
const stacksOf = new WeakMap<Profile, Map<string, Stacks>>();

export function sharedStacks(profile: Profile, filters: readonly StackFilter[]): Stacks {
  let known = stacksOf.get(profile);
  if (!known) stacksOf.set(profile, (known = new Map()));
  const key = JSON.stringify(filters);
  let stacks = known.get(key);
  if (!stacks) {
    known.clear();
    stacks = filterStacks(profile, filters);
    known.set(key, stacks);
  }
  return stacks;
}
