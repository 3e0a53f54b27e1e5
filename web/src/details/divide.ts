/*
 * The two-dimensional browser of memory-infra: memory broken down by backtrace (ƒ) and by type (Ⓣ),
 * in any order. A row of the tree is a set of entries, each with its place in its stack; a row is
 * broken down further by the next function of the stacks, or by type.
 *
 *     tree        from the outermost function to what it calls; a row for each path
 *     heavy       from any function to what it calls: a function stands in the first level once,
 *                 however many paths lead to it. Rows overlap
 *     bottom-up   from the function that allocated to its callers
 *
 * Ensures   of tree and bottom-up, the rows below a row add up to it: what the stack itself holds
 *           and what is too small to be shown have rows of their own.
 */
import { newFigures, type Figures } from "../data/figures.ts";
import { addedColumns, UNRECORDED, type Entries } from "../data/part_figures.ts";

export type Mode = "tree" | "heavy" | "bottom-up";
export type Dimension = "f" | "t";

/* What a row stands for. `index` is a function or a type. */
export interface RowKey {
  dimension: Dimension | "self" | "rest" | "all";
  index: number;
}

export interface Group {
  key: RowKey;
  /* Entries, and of each the node of the function that the row is at; -1: not begun. */
  entries: Int32Array;
  nodes: Int32Array;
  /* The type is fixed by a row above. */
  hasType: boolean;
  value: number;
  /* Of the row for what is small: how many rows it stands for. */
  smallCount: number;
}

/* So many rows are shown below a row, and the others as one. */
export const SHOWN = 25;

export function everything(entries: Entries): Group {
  const all = new Int32Array(entries.count);
  for (let i = 0; i < all.length; i++) all[i] = i;
  const nodes = new Int32Array(entries.count).fill(-1);
  return groupOf(entries, { dimension: "all", index: 0 }, all, nodes, false);
}

function groupOf(
  { figures }: Entries,
  key: RowKey,
  entries: Int32Array,
  nodes: Int32Array,
  hasType: boolean,
): Group {
  let value = 0;
  for (const i of entries) value += figures.value[i];
  return { key, entries, nodes, hasType, value, smallCount: 0 };
}

/*
 * Entries with the index of the group that each is of. They are sorted into groups by counting: a
 * list that grows for each group would take most of the time.
 */
class Lists {
  private index: Int32Array;
  private entry: Int32Array;
  private node: Int32Array;
  private length = 0;

  constructor(capacity: number) {
    this.index = new Int32Array(capacity);
    this.entry = new Int32Array(capacity);
    this.node = new Int32Array(capacity);
  }

  private grow(): void {
    const grown = (old: Int32Array) => {
      const column = new Int32Array(Math.max(64, 2 * old.length));
      column.set(old);
      return column;
    };
    [this.index, this.entry, this.node] = [this.index, this.entry, this.node].map(grown);
  }

  add(index: number, entry: number, node: number): void {
    if (this.length === this.index.length) this.grow();
    this.index[this.length] = index;
    this.entry[this.length] = entry;
    this.node[this.length++] = node;
  }

  groups(entries: Entries, key: (index: number) => RowKey, hasType: boolean): Group[] {
    const counts = new Map<number, number>();
    for (let i = 0; i < this.length; i++) {
      counts.set(this.index[i], (counts.get(this.index[i]) ?? 0) + 1);
    }
    const filled = new Map<number, { entries: Int32Array; nodes: Int32Array; at: number }>();
    for (const [index, count] of counts) {
      const columns = { entries: new Int32Array(count), nodes: new Int32Array(count), at: 0 };
      filled.set(index, columns);
    }
    for (let i = 0; i < this.length; i++) {
      const group = filled.get(this.index[i]);
      if (!group) continue;
      group.entries[group.at] = this.entry[i];
      group.nodes[group.at++] = this.node[i];
    }
    return [...filled].map(([index, { entries: own, nodes }]) =>
      groupOf(entries, key(index), own, nodes, hasType),
    );
  }
}

const SELF = -1;

/* The child of `from` on the way to `leaf`; from -1: the outermost. -1: `from` is the leaf. */
function towards(caller: Int32Array, leaf: number, from: number): number {
  if (leaf === from) return SELF;
  let at = leaf;
  while (caller[at] !== from && caller[at] >= 0) at = caller[at];
  return at;
}

function addTree(lists: Lists, entries: Entries, group: Group): void {
  const { caller, functionOf } = entries.stacks;
  group.entries.forEach((entry, k) => {
    const next = towards(caller, entries.node[entry], group.nodes[k]);
    lists.add(next < 0 ? SELF : functionOf[next], entry, next < 0 ? group.nodes[k] : next);
  });
}

function addBottomUp(lists: Lists, entries: Entries, group: Group): void {
  const { caller, functionOf } = entries.stacks;
  group.entries.forEach((entry, k) => {
    const from = group.nodes[k];
    const next = from < 0 ? entries.headline[entry] : caller[from];
    lists.add(next < 0 ? SELF : functionOf[next], entry, next < 0 ? from : next);
  });
}

/* The first level: each function of a stack, where it stands outermost. */
function addEveryFunction(lists: Lists, entries: Entries, group: Group): void {
  const { caller, functionOf } = entries.stacks;
  /* By function: the entry that it was met in last, and where it stands outermost in it. */
  const most = functionOf.reduce((highest, index) => Math.max(highest, index), -1) + 1;
  const met = new Int32Array(most).fill(-1);
  const outermost = new Int32Array(most);
  for (const entry of group.entries) {
    for (let at = entries.node[entry]; at >= 0; at = caller[at]) outermost[functionOf[at]] = at;
    for (let at = entries.node[entry]; at >= 0; at = caller[at]) {
      const index = functionOf[at];
      if (met[index] === entry) continue;
      met[index] = entry;
      lists.add(index, entry, outermost[index]);
    }
  }
}

function byFunction(entries: Entries, group: Group, mode: Mode): Group[] {
  const lists = new Lists(group.entries.length);
  const isBegun = group.nodes.length > 0 && group.nodes[0] >= 0;
  if (mode === "bottom-up") addBottomUp(lists, entries, group);
  else if (mode === "heavy" && !isBegun) addEveryFunction(lists, entries, group);
  else addTree(lists, entries, group);
  return lists.groups(
    entries,
    (index) => ({ dimension: index === SELF ? "self" : "f", index }),
    group.hasType,
  );
}

function byType(entries: Entries, group: Group): Group[] {
  const lists = new Lists(group.entries.length);
  const { type } = entries.parts;
  group.entries.forEach((entry, k) => lists.add(type[entry], entry, group.nodes[k]));
  return lists.groups(entries, (index) => ({ dimension: "t", index }), true);
}

/* Whether a row can be broken down by this dimension. */
export function canBreak(entries: Entries, group: Group, dimension: Dimension): boolean {
  if (dimension === "t") return !group.hasType && hasTypes(entries);
  return group.key.dimension !== "self";
}

export function hasTypes(entries: Entries): boolean {
  const { type } = entries.parts;
  for (let i = 0; i < entries.count; i++) if (type[i] !== UNRECORDED) return true;
  return false;
}

/* The small groups as one, which can be broken down into them. */
function restOf(groups: readonly Group[], from: number, sum: number): Group {
  return {
    key: { dimension: "rest", index: from },
    entries: new Int32Array(0),
    nodes: new Int32Array(0),
    hasType: true,
    value: sum,
    smallCount: groups.length - from,
  };
}

/* All rows below a row, the largest first. */
export function allBelow(
  entries: Entries,
  group: Group,
  dimension: Dimension,
  mode: Mode,
): Group[] {
  const groups = dimension === "t" ? byType(entries, group) : byFunction(entries, group, mode);
  return groups.sort((a, b) => b.value - a.value || a.key.index - b.key.index);
}

/* The first `shown` of the rows, and one for the others, with what they hold together. */
export function shownOf(groups: readonly Group[], shown: number): Group[] {
  if (groups.length <= shown + 1) return [...groups];
  const rest = groups.slice(shown).reduce((sum, group) => sum + group.value, 0);
  return [...groups.slice(0, shown), restOf(groups, shown, rest)];
}

/* The figure of a row, with what its margin needs. */
export function figuresOf(entries: Entries, group: Group): Figures {
  const sums = newFigures(1, entries.figures.peak !== null);
  const from = addedColumns(entries.figures);
  const to = addedColumns(sums);
  for (const i of group.entries) {
    for (let c = 0; c < from.length; c++) to[c][0] += from[c][i];
    if (entries.figures.weight[i] > sums.weight[0]) sums.weight[0] = entries.figures.weight[i];
  }
  return sums;
}
