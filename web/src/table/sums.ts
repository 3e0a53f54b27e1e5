/*
 * The figures of a table: for each column the sums by the key of a row. A column is summed up when
 * it is first shown.
 *
 * Rows are added up as they are (figuresBy). Only threads, types and scopes need the parts of rows,
 * and what is made for those is dropped when it was added up.
 */
import { figuresBy, type Figures } from "../data/figures.ts";
import { measureOf, type MeasureName } from "../data/measures.ts";
import { entriesOf, headlineOf, sumsBy, UNRECORDED, type Entries } from "../data/part_figures.ts";
import type { Profile } from "../data/profile.ts";
import type { StackFilter } from "../data/select_filters.ts";
import { filterStacks, type Stacks } from "../data/select_stacks.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import type { FigureColumn } from "./figure_columns.ts";
import { functionTotals, outermostCalls } from "./function_totals.ts";
import { idOfKey, isPart, keyCount, keyOfId, PART_OF, type Kind } from "./kinds.ts";
import { StackPlaces } from "./stack_sums.ts";

export interface ColumnSums {
  /* The keys of the values, in ascending order; null: a key is an index of them. */
  keys: Int32Array | null;
  values: Float64Array;
  /* What shares are of: all that is selected. */
  whole: number;
  /* The figure of a key, with what its margin needs. */
  figure: (key: number) => { figures: Figures; at: number };
}

export interface Sums {
  /* null: not recorded. */
  column: (kind: Kind, column: FigureColumn) => ColumnSums | null;
  /* What is selected, as entries: one for each row, or part of a row if parts are selected. */
  entries: (measure: MeasureName) => Entries;
  /* The work for these columns that is left, in pieces. */
  steps: (kind: Kind, columns: readonly FigureColumn[]) => (() => void)[];
  /* So much work that the page would not answer for a while if it were done at once. */
  isLarge: boolean;
}

/* So many nodes and rows are added up in less than 100 ms. */
const LARGE = 600_000;

/* For a kind without parts, the key of each row; below 0: filters of stacks leave it out. */
function keysOfRows(profile: Profile, kind: Kind, stacks: Stacks, each: LoadedRows): Int32Array {
  const { rows, snapshot } = each;
  const { owner, functionOf } = stacks;
  const { module } = profile.functions;
  const keys = new Int32Array(rows.count);
  const functionAt = (row: number) => functionOf[headlineOf(profile, stacks, each, row)];
  for (let row = 0; row < rows.count; row++) {
    if (owner[rows.node[row]] < 0) keys[row] = -1;
    else if (kind === "functions") keys[row] = keyOfId(functionAt(row));
    else if (kind === "modules") keys[row] = keyOfId(module[functionAt(row)]);
    else keys[row] = keyOfId(kind === "heaps" ? rows.heap[row] : snapshot.process);
  }
  return keys;
}

const plain = (figures: Figures, whole: number): ColumnSums => ({
  keys: null,
  values: figures.value,
  whole,
  figure: (key) => ({ figures, at: key }),
});

const total = (values: Float64Array) => values.reduce((sum, value) => sum + value, 0);

/* The sums by thread, type or scope; null: no row records it. */
function partSums(profile: Profile, kind: keyof typeof PART_OF, of: Entries): ColumnSums | null {
  const column = of.parts[PART_OF[kind]];
  const { length } = column.subarray(0, of.count).filter((id) => id !== UNRECORDED);
  if (length === 0) return null;
  const keyOf = (i: number) => (column[i] === UNRECORDED ? -1 : keyOfId(column[i]));
  const figures = sumsBy(of.figures, of.count, keyCount(profile, kind), keyOf);
  return plain(figures, total(of.figures.value.subarray(0, of.count)));
}

class TableSums implements Sums {
  private readonly columns = new Map<string, ColumnSums | null>();
  private readonly keys = new Map<Kind, Int32Array[]>();
  private outermost: Uint8Array | null = null;
  private places: { of: StackPlaces; keys: Int32Array } | null = null;

  constructor(
    private readonly profile: Profile,
    private readonly loaded: readonly LoadedRows[],
    private readonly selection: Selection,
    private readonly filters: readonly StackFilter[],
  ) {}

  private get stacks(): Stacks {
    return filterStacks(this.profile, this.filters);
  }

  get isLarge(): boolean {
    return this.loaded.reduce((sum, { rows }) => sum + rows.count, this.profile.tree.count) > LARGE;
  }

  private selectionFor(name: MeasureName): Selection {
    return { ...this.selection, measure: measureOf(name) };
  }

  entries(name: MeasureName): Entries {
    return entriesOf(this.profile, this.loaded, this.selectionFor(name), this.stacks);
  }

  private keysFor(kind: Kind): Int32Array[] {
    let known = this.keys.get(kind);
    if (!known) {
      known = this.loaded.map((each) => keysOfRows(this.profile, kind, this.stacks, each));
      this.keys.clear();
      this.keys.set(kind, known);
    }
    return known;
  }

  private outermostFor(): Uint8Array {
    this.outermost ??= outermostCalls(this.stacks, this.profile.functions.count);
    return this.outermost;
  }

  private placesFor() {
    if (!this.places) {
      const of = new StackPlaces(this.profile, this.loaded, this.stacks);
      this.places = { of, keys: of.nodes.map(keyOfId) };
    }
    return this.places;
  }

  private stackSums(selection: Selection): ColumnSums {
    const { of, keys } = this.placesFor();
    const figure = (key: number) => ({ figures: of.figure(idOfKey(key), selection), at: 0 });
    return { keys, ...of.values(selection), figure };
  }

  private sum(kind: Kind, { measure, isTotal }: FigureColumn): ColumnSums | null {
    const { profile, loaded } = this;
    if (!loaded.some(({ rows }) => rows[measure.quantity] !== null)) return null;
    if (isPart(kind)) return partSums(profile, kind, this.entries(measure.name));
    const selection = this.selectionFor(measure.name);
    if (kind === "stacks") return this.stackSums(selection);
    const count = keyCount(profile, kind);
    if (isTotal) {
      const outermost = this.outermostFor();
      const { stacks } = this;
      const of = functionTotals(profile, loaded, selection, stacks, outermost, count, keyOfId);
      return plain(of.figures, of.whole);
    }
    const keys = this.keysFor(kind);
    const keysOf = (each: LoadedRows) => keys[loaded.indexOf(each)];
    const figures = figuresBy(profile, loaded, selection, count, keysOf);
    return plain(figures, total(figures.value));
  }

  column(kind: Kind, column: FigureColumn): ColumnSums | null {
    const key = `${kind} ${column.key}`;
    let known = this.columns.get(key);
    if (known === undefined) this.columns.set(key, (known = this.sum(kind, column)));
    return known;
  }

  steps(kind: Kind, columns: readonly FigureColumn[]): (() => void)[] {
    const left = columns.filter(({ key }) => !this.columns.has(`${kind} ${key}`));
    if (left.length === 0) return [];
    const steps: (() => void)[] = [() => void this.stacks];
    if (kind === "stacks") steps.push(() => void this.placesFor());
    else if (!isPart(kind)) steps.push(() => void this.keysFor(kind));
    if (left.some(({ isTotal }) => isTotal)) steps.push(() => void this.outermostFor());
    return [...steps, ...left.map((column) => () => void this.column(kind, column))];
  }
}

export function makeSums(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  filters: readonly StackFilter[],
): Sums {
  return new TableSums(profile, loaded, selection, filters);
}

/* The keys that have a figure in one of the columns, in ascending order. */
export function keysOf(columns: readonly (ColumnSums | null)[]): Int32Array {
  const there = columns.filter((column) => column !== null);
  if (there.length === 0) return new Int32Array(0);
  /* The columns of one table have the same keys. */
  const { keys, values: any } = there[0];
  const isThere = new Uint8Array(any.length);
  let length = 0;
  for (const { values } of there) {
    for (let i = 0; i < values.length; i++) {
      if (values[i] === 0 || isThere[i] === 1) continue;
      isThere[i] = 1;
      length++;
    }
  }
  const found = new Int32Array(length);
  for (let i = 0, at = 0; at < length; i++) {
    if (isThere[i] === 1) found[at++] = keys ? keys[i] : i;
  }
  return found;
}

/* The values of these keys, which are in ascending order. */
export function valuesAt(
  { keys, values }: Pick<ColumnSums, "keys" | "values">,
  wanted: Int32Array,
): Float64Array {
  const found = new Float64Array(wanted.length);
  for (let i = 0, at = 0; i < wanted.length; i++) {
    if (keys) while (keys[at] < wanted[i]) at++;
    found[i] = values[keys ? at : wanted[i]];
  }
  return found;
}
