/*
 * Where the arrow keys lead in a flame graph. "away" is towards the leaves, "back" towards the
 * outermost boxes; with a pivot they cross its row.
 */
import type { Box, Layout } from "./layout.ts";

export type Move = "left" | "right" | "away" | "back" | "first" | "last";

const middleOf = (box: Box) => box.x + box.width / 2;

/* The widest box of that row that lies over this one. */
function overlapping(layout: Layout, from: Box, row: number): Box | undefined {
  const boxes = layout.rows.get(row) ?? [];
  const end = from.x + from.width;
  let best: Box | undefined;
  for (const box of boxes) {
    const isOver = box.x < end - 1e-9 && box.x + box.width > from.x + 1e-9;
    if (isOver && (!best || box.width > best.width)) best = box;
  }
  return best;
}

export function moved(layout: Layout, from: Box | null, move: Move): Box | undefined {
  if (!from) return layout.rows.get(0)?.[0];
  const row = layout.rows.get(from.row) ?? [];
  const at = row.indexOf(from);
  switch (move) {
    case "left":
      return row[at - 1];
    case "right":
      return row[at + 1];
    case "away":
      return overlapping(layout, from, from.row + 1);
    case "back":
      return overlapping(layout, from, from.row - 1);
    case "first":
      return row[0];
    case "last":
      return row.at(-1);
  }
}

/* The box of a new picture at the place of one of the last picture. */
export function nearest(layout: Layout, box: Box): Box | undefined {
  const boxes = layout.rows.get(box.row) ?? [];
  const same = boxes.find((each) => box.node !== null && each.node === box.node);
  if (same) return same;
  let best: Box | undefined;
  for (const each of boxes) {
    const distance = Math.abs(middleOf(each) - middleOf(box));
    if (!best || distance < Math.abs(middleOf(best) - middleOf(box))) best = each;
  }
  return best;
}
