/*
 * What each stack holds. Of a million stacks only the values are kept, by which a table is sorted;
 * what a margin needs besides is added up for the rows that somebody looks at.
 */
import { figuresBy, type Figures } from "../data/figures.ts";
import { pickRows } from "../data/pick_rows.ts";
import type { Profile } from "../data/profile.ts";
import type { Stacks } from "../data/select_stacks.ts";
import { rowValues, type LoadedRows, type Selection } from "../data/selection.ts";

/* Which rows count for a shown node; the rows of all snapshots have numbers in one sequence. */
export class RowsOfNodes {
  private readonly first: Int32Array;
  private readonly list: Int32Array;

  constructor(
    private readonly loaded: readonly LoadedRows[],
    { owner }: Stacks,
  ) {
    const first = new Int32Array(owner.length + 1);
    const eachRow = (visit: (node: number, row: number) => void) => {
      let number = 0;
      for (const { rows } of loaded) {
        for (let row = 0; row < rows.count; row++, number++) {
          const node = owner[rows.node[row]];
          if (node >= 0) visit(node, number);
        }
      }
    };
    eachRow((node) => first[node + 1]++);
    for (let node = 0; node < owner.length; node++) first[node + 1] += first[node];
    const list = new Int32Array(first[owner.length]);
    eachRow((node, row) => (list[first[node]++] = row));
    /* Each entry has moved to the end of its node's rows, where the next node's begin. */
    first.copyWithin(1, 0, owner.length);
    first[0] = 0;
    this.first = first;
    this.list = list;
  }

  /* The snapshots with these rows alone. */
  of(node: number): LoadedRows[] {
    const numbers = this.list.subarray(this.first[node], this.first[node + 1]);
    let before = 0;
    return this.loaded.map((each) => {
      const { rows } = each;
      const own = numbers.filter((number) => number >= before && number < before + rows.count);
      const list = own.map((number) => number - before);
      before += rows.count;
      return { ...each, rows: pickRows(rows, list) };
    });
  }
}

/* The figure of one stack, at index 0. */
export function figureOfStack(
  profile: Profile,
  rows: RowsOfNodes,
  selection: Selection,
  node: number,
): Figures {
  return figuresBy(profile, rows.of(node), selection, 1, (each) => new Int32Array(each.rows.count));
}

/* The values by keyOf(node), of which there are `count`, and their sum. */
export function stackValues(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  { owner }: Stacks,
  count: number,
  keyOf: (node: number) => number,
): { values: Float64Array; whole: number } {
  const values = new Float64Array(count);
  let whole = 0;
  for (const each of loaded) {
    const own = rowValues(profile, each, selection);
    const { node } = each.rows;
    for (let row = 0; row < own.length; row++) {
      const shown = owner[node[row]];
      if (shown < 0) continue;
      values[keyOf(shown)] += own[row];
      whole += own[row];
    }
  }
  return { values, whole };
}
