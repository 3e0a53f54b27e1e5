/*
 * The figures of a table: for each column the sums by the key of a row. A column is summed up when
 * it is first shown.
 */
import type { Figures } from "../data/figures.ts";
import { measureOf, type MeasureName } from "../data/measures.ts";
import {
  addedColumns,
  entriesOf,
  sharedStacks,
  sumsBy,
  UNRECORDED,
  type Entries,
} from "../data/part_figures.ts";
import type { Profile } from "../data/profile.ts";
import type { StackFilter } from "../data/select_filters.ts";
import type { Stacks } from "../data/select_stacks.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import type { FigureColumn } from "./figure_columns.ts";
import { keyCount, keyOfEntry, keyOfId, type Kind } from "./kinds.ts";

export interface ColumnSums {
  figures: Figures;
  /* What shares are of: all that is selected. */
  whole: number;
}

export interface Sums {
  /* null: not recorded. */
  column: (kind: Kind, column: FigureColumn) => ColumnSums | null;
  /* What ends at each shown node, and what each holds with all that it calls. */
  entries: (measure: MeasureName) => Entries;
  stacks: Stacks;
}

/* Of a larger profile, the entries of one measure are kept: a million of them take 100 MB. */
const ENTRIES_KEPT = 300_000;

/* For each shown node, whether no caller of it is the same function. */
export function outermostCalls(stacks: Stacks): Uint8Array {
  const { caller, functionOf, isShown } = stacks;
  const outermost = new Uint8Array(caller.length);
  for (let node = 0; node < caller.length; node++) {
    if (isShown[node] === 0) continue;
    let at = caller[node];
    while (at >= 0 && functionOf[at] !== functionOf[node]) at = caller[at];
    outermost[node] = at < 0 ? 1 : 0;
  }
  return outermost;
}

/* Adds to each shown node what the nodes that it calls hold. */
function addCallees(figures: Figures, { caller, isShown }: Stacks): void {
  const columns = addedColumns(figures);
  const { weight } = figures;
  for (let i = caller.length - 1; i >= 0; i--) {
    const up = caller[i];
    if (isShown[i] === 0 || up < 0) continue;
    for (const column of columns) column[up] += column[i];
    if (weight[i] > weight[up]) weight[up] = weight[i];
  }
}

/* What stacks hold that have a function in them, once however often they call it. */
function totalsByFunction(profile: Profile, entries: Entries, outermost: Uint8Array): Figures {
  const { stacks, figures } = entries;
  const nodes = sumsBy(figures, entries.count, profile.tree.count, (i) => entries.node[i]);
  addCallees(nodes, stacks);
  const { functionOf } = stacks;
  return sumsBy(nodes, profile.tree.count, keyCount(profile, "functions"), (node) =>
    outermost[node] === 1 ? keyOfId(functionOf[node]) : -1,
  );
}

/* Rows without memory of the kind are none: a sum of zeros of nothing that was recorded. */
function isRecorded(entries: Entries, kind: Kind, isThere: boolean): boolean {
  if (!isThere) return false;
  const parts = { types: "type", threads: "thread", scopes: "scope" } as const;
  if (!(kind in parts)) return true;
  const column = entries.parts[parts[kind as keyof typeof parts]];
  for (let i = 0; i < entries.count; i++) if (column[i] !== UNRECORDED) return true;
  return false;
}

export function makeSums(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  filters: readonly StackFilter[],
): Sums {
  const stacks = sharedStacks(profile, filters);
  const entriesBy = new Map<MeasureName, Entries>();
  const columns = new Map<string, ColumnSums | null>();
  let outermost: Uint8Array | null = null;
  const entries = (name: MeasureName): Entries => {
    let known = entriesBy.get(name);
    if (!known) {
      known = entriesOf(profile, loaded, { ...selection, measure: measureOf(name) }, stacks);
      if (known.count > ENTRIES_KEPT) entriesBy.clear();
      entriesBy.set(name, known);
    }
    return known;
  };
  const sum = (kind: Kind, { measure, isTotal }: FigureColumn): ColumnSums | null => {
    const isThere = loaded.some(({ rows }) => rows[measure.quantity] !== null);
    const of = isThere ? entries(measure.name) : null;
    if (!of || !isRecorded(of, kind, isThere)) return null;
    let whole = 0;
    for (let i = 0; i < of.count; i++) whole += of.figures.value[i];
    const keyOf = keyOfEntry(profile, kind, of);
    const figures = isTotal
      ? totalsByFunction(profile, of, (outermost ??= outermostCalls(stacks)))
      : sumsBy(of.figures, of.count, keyCount(profile, kind), keyOf);
    return { figures, whole };
  };
  return {
    stacks,
    entries,
    column(kind, column) {
      const key = `${kind} ${column.key}`;
      let known = columns.get(key);
      if (known === undefined) columns.set(key, (known = sum(kind, column)));
      return known;
    },
  };
}

/* The keys that have a figure in one of the columns, in ascending order. */
export function keysOf(count: number, columns: readonly (ColumnSums | null)[]): Int32Array {
  const keys = new Int32Array(count);
  let length = 0;
  for (let key = 0; key < count; key++) {
    if (columns.some((column) => column !== null && column.figures.value[key] !== 0)) {
      keys[length++] = key;
    }
  }
  return keys.slice(0, length);
}
