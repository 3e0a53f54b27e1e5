/*
 * Where the boxes of a flame graph are: in rows, with left edge and width in pixels. Makes what can
 * be seen and nothing else, so that a picture of a million stacks is as fast as a small one.
 *
 *     row 0   all                                   or, with a pivot:   row -1  caller
 *     row 1   main              worker                                  row  0  pivot
 *     row 2   load      save    parse                                   row  1  callee
 *
 * Siblings that are narrower than a pixel are one box, which tells how many they are.
 *
 * Holds     the boxes of a row are ordered by their left edges and do not overlap. A box lies
 *           within the one that it was made under. Outside of the zoomed box, only boxes that
 *           contain it are there.
 */
import type { CallTree, TreeNode } from "../data/call_tree.ts";
import { pathOf } from "../data/call_tree.ts";

export interface Box {
  /* null: the sum of all, or smaller siblings that are merged */
  node: TreeNode | null;
  row: number;
  x: number;
  width: number;
  total: number;
  /* Of merged siblings: their number and the box that they are under; 0: it is none of these. */
  mergedCount: number;
  under: TreeNode | null;
  /* It contains the zoomed box, and is as wide as the picture. */
  isOuter: boolean;
}

export interface Layout {
  rows: ReadonlyMap<number, readonly Box[]>;
  firstRow: number;
  lastRow: number;
  width: number;
}

export const LEAST_PX = 1;
/* Merged siblings are drawn if all of them together are this wide. */
const LEAST_MERGED_PX = 0.5;

class Maker {
  readonly rows = new Map<number, Box[]>();

  constructor(
    readonly tree: CallTree,
    readonly width: number,
    readonly leastPx: number,
  ) {}

  add(box: Box): void {
    const row = this.rows.get(box.row);
    if (row) row.push(box);
    else this.rows.set(box.row, [box]);
  }

  addNode(node: TreeNode, row: number, x: number, width: number, isOuter: boolean): void {
    const { total } = node;
    this.add({ node, row, x, width, total, mergedCount: 0, under: node.parent, isOuter });
  }

  /* Places siblings from x on; returns those that are boxes of their own. */
  place(nodes: readonly TreeNode[], row: number, x: number, scale: number): Box[] {
    const boxes: Box[] = [];
    let at = x;
    let next = 0;
    for (; next < nodes.length; next++) {
      const width = nodes[next].total * scale;
      if (width < this.leastPx) break;
      this.addNode(nodes[next], row, at, width, false);
      boxes.push(this.rows.get(row)!.at(-1)!);
      at += width;
    }
    this.merge(nodes.slice(next), row, at, scale);
    return boxes;
  }

  private merge(nodes: readonly TreeNode[], row: number, x: number, scale: number): void {
    if (nodes.length === 0) return;
    const total = nodes.reduce((sum, node) => sum + node.total, 0);
    const width = total * scale;
    if (width < LEAST_MERGED_PX) return;
    const under = nodes[0].parent;
    const mergedCount = nodes.length;
    this.add({ node: null, row, x, width, total, mergedCount, under, isOuter: false });
  }

  /* Everything behind these boxes, row by row, so that each row is in order. */
  grow(boxes: Box[], step: 1 | -1, scale: number): void {
    let level = boxes;
    while (level.length > 0) {
      const next: Box[] = [];
      for (const box of level) {
        if (!box.node) continue;
        const children = this.tree.childrenOf(box.node);
        for (const child of this.place(children, box.row + step, box.x, scale)) next.push(child);
      }
      level = next;
    }
  }
}

function rowOfRoots(tree: CallTree): number {
  return tree.stacks.hasPivot ? 0 : 1;
}

/* The row of a node: pivots are in row 0, and their callers in rows before it. */
export function rowOf(tree: CallTree, node: TreeNode): number {
  if (node.depth < 0 && tree.direction === "down") return node.depth + 1;
  return rowOfRoots(tree) + Math.abs(node.depth) - 1;
}

function placeZoomed(maker: Maker, zoomed: TreeNode): void {
  const { tree, width } = maker;
  const step = zoomed.depth < 0 && tree.direction === "down" ? -1 : 1;
  const path = pathOf(zoomed);
  for (const node of path) {
    maker.addNode(node, rowOf(tree, node), 0, width, node !== zoomed);
  }
  const box = maker.rows.get(rowOf(tree, zoomed))![0];
  const scale = zoomed.total > 0 ? width / zoomed.total : 0;
  maker.grow([box], step, scale);
  /* The other half of a pivot that is zoomed itself. */
  if (tree.stacks.hasPivot && zoomed.depth === 1) {
    const twin = tree.callers.find((node) => node.key === zoomed.key);
    if (twin) maker.grow([{ ...box, node: twin }], -1, scale);
  }
}

function placeAll(maker: Maker): void {
  const { tree, width } = maker;
  const scale = tree.total > 0 ? width / tree.total : 0;
  const row = rowOfRoots(tree);
  const boxes = maker.place(tree.roots, row, 0, scale);
  maker.grow(boxes, 1, scale);
  /* The roots of both halves are the same functions in the same order. */
  const upward = boxes.map((box, i) => ({ ...box, node: tree.callers[i] ?? null }));
  if (tree.stacks.hasPivot && tree.direction === "down") maker.grow(upward, -1, scale);
}

/* The boxes of a picture of this width, which shows `zoomed` (null: everything). */
export function layOut(
  tree: CallTree,
  zoomed: TreeNode | null,
  width: number,
  leastPx = LEAST_PX,
): Layout {
  const maker = new Maker(tree, width, leastPx);
  if (!tree.stacks.hasPivot) {
    const { total } = tree;
    const isOuter = zoomed !== null;
    maker.add({ node: null, row: 0, x: 0, width, total, mergedCount: 0, under: null, isOuter });
  }
  if (zoomed) placeZoomed(maker, zoomed);
  else placeAll(maker);
  const numbers = [...maker.rows.keys()];
  return {
    rows: maker.rows,
    firstRow: Math.min(0, ...numbers),
    lastRow: Math.max(0, ...numbers),
    width,
  };
}

/* The box of a row at x; undefined: there is none. */
export function boxAt(layout: Layout, row: number, x: number): Box | undefined {
  const boxes = layout.rows.get(row) ?? [];
  let low = 0;
  let high = boxes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (boxes[middle].x <= x) low = middle;
    else high = middle - 1;
  }
  const box = boxes[low];
  return box && x >= box.x && x < box.x + Math.max(box.width, 1) ? box : undefined;
}

/* The box of a node, if it is in the picture. */
export function boxOfNode(layout: Layout, tree: CallTree, node: TreeNode): Box | undefined {
  return layout.rows.get(rowOf(tree, node))?.find((box) => box.node === node);
}
