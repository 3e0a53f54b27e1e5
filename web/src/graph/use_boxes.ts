/*
 * Which box of a flame graph has the focus, and which one the pointer is over. Boxes belong to one
 * layout: in the next one, the focus is on the box of the same node, or on the nearest.
 */
import { useMemo, useState } from "preact/hooks";

import type { TreeNode } from "../data/call_tree.ts";
import { boxAt, boxOfNode, type Box, type Layout } from "./layout.ts";
import type { GraphModel } from "./model.ts";
import { ROW_PX, rowAt, topOf } from "./paint.ts";
import type { TooltipPlace } from "./tooltip.tsx";
import type { Screen } from "./use_drawing.ts";
import { moved, nearest, type Move } from "./walk_keys.ts";

const BELOW_POINTER_PX = 14;

export interface Pointed {
  box: Box;
  place: TooltipPlace;
}

export interface Boxes {
  focused: Box | null;
  pointed: Pointed | null;
  setFocused: (box: Box | undefined) => void;
  move: (move: Move) => void;
  point: (event: MouseEvent | null) => void;
  under: (event: MouseEvent) => Pointed | null;
  /* Where the tooltip of the focused box belongs. */
  focusedPlace: () => TooltipPlace | null;
}

interface Input {
  screen: Screen;
  model: GraphModel;
  layout: Layout;
  isFlame: boolean;
  zoomed: TreeNode | null;
}

function scrollTo(scroller: HTMLDivElement | null, layout: Layout, isFlame: boolean, box: Box) {
  if (!scroller) return;
  const top = topOf(layout, isFlame, box.row);
  const least = top + ROW_PX - scroller.clientHeight;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  if (least > scroller.scrollTop) scroller.scrollTop = least;
}

function boxUnder({ screen, layout, isFlame }: Input, event: MouseEvent): Pointed | null {
  const element = screen.scroller.current;
  if (!element) return null;
  const area = element.getBoundingClientRect();
  const x = event.clientX - area.left - element.clientLeft;
  const y = event.clientY - area.top - element.clientTop;
  const box = boxAt(layout, rowAt(layout, isFlame, y + element.scrollTop), x);
  return box ? { box, place: { x, y: y + BELOW_POINTER_PX } } : null;
}

/* The box of another layout where this one was; after a change of filters, of the same function. */
function continued({ model, layout }: Input, box: Box, before: GraphModel): Box | undefined {
  if (before === model) return nearest(layout, box);
  const { node } = box;
  if (!node) return undefined;
  const wanted = before.functionOf(node);
  const isSame = (each: Box) => each.node !== null && model.functionOf(each.node) === wanted;
  const found = [...layout.rows.values()].flatMap((row) => row.find(isSame) ?? []);
  return found.sort((a, b) => Math.abs(a.row) - Math.abs(b.row))[0];
}

export function useBoxes(input: Input): Boxes {
  const { screen, model, layout, isFlame, zoomed } = input;
  const [last, setLast] = useState<{ box: Box; model: GraphModel } | null>(null);
  const [lastPointed, setPointed] = useState<Pointed | null>(null);
  const focused = useMemo(
    () => (last && continued(input, last.box, last.model)) ?? null,
    [last, layout],
  );
  const isThere = lastPointed && layout.rows.get(lastPointed.box.row)?.includes(lastPointed.box);
  const setFocused = (box: Box | undefined) => {
    if (!box) return;
    setPointed(null);
    setLast({ box, model });
    scrollTo(screen.scroller.current, layout, isFlame, box);
  };
  const start = () => (zoomed && boxOfNode(layout, model.tree, zoomed)) ?? null;
  return {
    focused,
    pointed: isThere ? lastPointed : null,
    setFocused,
    move: (move) => {
      const from = focused ?? start();
      setFocused(focused || !from ? moved(layout, from, move) : from);
    },
    point: (event) => setPointed(event && boxUnder(input, event)),
    under: (event) => boxUnder(input, event),
    focusedPlace: () => {
      if (!focused) return null;
      const scrolled = screen.scroller.current?.scrollTop ?? 0;
      const x = Math.max(0, focused.x) + Math.min(focused.width, 60) / 2;
      return { x, y: topOf(layout, isFlame, focused.row) - scrolled + ROW_PX };
    },
  };
}
