/*
 * What functions hold with all that they call, of a million stacks: one column of figures at a
 * time, in an array by node that all columns use.
 *
 * Ensures   a stack counts once for a function that calls itself.
 */
import { columnsOf, figuresBy, newFigures, type Figures } from "../data/figures.ts";
import type { Profile } from "../data/profile.ts";
import type { Stacks } from "../data/select_stacks.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";

/* The shown nodes as lists: the first one that each calls, and the next one of the same caller. */
function linked({ caller, isShown }: Stacks) {
  const first = new Int32Array(caller.length).fill(-1);
  const next = new Int32Array(caller.length).fill(-1);
  let root = -1;
  for (let node = caller.length - 1; node >= 0; node--) {
    if (isShown[node] === 0) continue;
    const up = caller[node];
    next[node] = up < 0 ? root : first[up];
    if (up < 0) root = node;
    else first[up] = node;
  }
  return { root, first, next };
}

/* For each shown node, whether no caller of it is the same function. Visits each node once. */
export function outermostCalls(stacks: Stacks, functionCount: number): Uint8Array {
  const { caller, functionOf } = stacks;
  const outermost = new Uint8Array(caller.length);
  const { root, first, next } = linked(stacks);
  /* By function: how often it stands on the path. */
  const depths = new Int32Array(functionCount);
  for (let node = root; node >= 0;) {
    if (depths[functionOf[node]]++ === 0) outermost[node] = 1;
    if (first[node] >= 0) {
      node = first[node];
      continue;
    }
    depths[functionOf[node]]--;
    while (node >= 0 && next[node] < 0) {
      node = caller[node];
      if (node >= 0) depths[functionOf[node]]--;
    }
    if (node >= 0) node = next[node];
  }
  return outermost;
}

const isZero = (column: Float64Array) => column.every((value) => value === 0);

/* Of each row, the shown node that it counts for; below 0: none. One list for all snapshots. */
function ownersOf(loaded: readonly LoadedRows[], { owner }: Stacks): Int32Array {
  const owners = new Int32Array(loaded.reduce((sum, { rows }) => sum + rows.count, 0));
  let at = 0;
  for (const { rows } of loaded) {
    for (let row = 0; row < rows.count; row++) owners[at++] = owner[rows.node[row]];
  }
  return owners;
}

function figuresOfRows(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  count: number,
): Figures {
  let first = 0;
  return figuresBy(profile, loaded, selection, count, ({ rows }) => {
    const keys = new Int32Array(rows.count);
    for (let row = 0; row < rows.count; row++) keys[row] = first + row;
    first += rows.count;
    return keys;
  });
}

/* Figures by keyOf(function), of which there are `count`, and the sum of all stacks. */
export function functionTotals(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  stacks: Stacks,
  outermost: Uint8Array,
  count: number,
  keyOf: (index: number) => number,
): { figures: Figures; whole: number } {
  const { caller, functionOf } = stacks;
  const owners = ownersOf(loaded, stacks);
  const rows = figuresOfRows(profile, loaded, selection, owners.length);
  const figures = newFigures(count, rows.peak !== null);
  const sums = new Float64Array(caller.length);
  const place = (column: Float64Array, add: (node: number, value: number) => void) => {
    sums.fill(0);
    for (let i = 0; i < owners.length; i++) if (owners[i] >= 0) add(owners[i], column[i]);
  };
  let whole = 0;
  columnsOf(rows).forEach((column, c) => {
    if (isZero(column)) return;
    const to = columnsOf(figures)[c];
    place(column, (node, value) => {
      sums[node] += value;
      if (c === 0) whole += value;
    });
    for (let node = sums.length - 1; node >= 0; node--) {
      const value = sums[node];
      if (value === 0) continue;
      if (caller[node] >= 0) sums[caller[node]] += value;
      if (outermost[node] === 1) to[keyOf(functionOf[node])] += value;
    }
  });
  if (isZero(rows.weight)) return { figures, whole };
  place(rows.weight, (node, value) => {
    if (value > sums[node]) sums[node] = value;
  });
  for (let node = sums.length - 1; node >= 0; node--) {
    const value = sums[node];
    if (value === 0) continue;
    const up = caller[node];
    if (up >= 0 && value > sums[up]) sums[up] = value;
    const key = keyOf(functionOf[node]);
    if (outermost[node] === 1 && value > figures.weight[key]) figures.weight[key] = value;
  }
  return { figures, whole };
}
