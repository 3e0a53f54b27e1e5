/*
 * The flame graph: a canvas with boxes, moved in by mouse and keyboard, with a tooltip, the details
 * of the focused frame, and the same as a list.
 *
 * The canvas is as large as what is in sight of it. Its boxes are no elements, so the focused one
 * is read out by a live region.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { usePrinting } from "../controls/use_printing.ts";
import type { TreeNode } from "../data/call_tree.ts";
import { plural } from "../format.ts";
import { colouringOf, type ColourMode } from "./colours.ts";
import { copyStack, Details } from "./details.tsx";
import { FrameList } from "./frame_list.tsx";
import "./graph.css";
import { hintOf, infoOf, type Info } from "./info.ts";
import { layOut, type Box, type Layout } from "./layout.ts";
import { Legend } from "./legend.tsx";
import type { GraphModel } from "./model.ts";
import { heightOf, ROW_PX, topOf, type Picture } from "./paint.ts";
import { Path } from "./path.tsx";
import { makePicture } from "./picture.ts";
import { Printed } from "./printed.tsx";
import type { Found } from "./search.ts";
import { Tooltip } from "./tooltip.tsx";
import { useBoxes, type Boxes } from "./use_boxes.ts";
import { useDrawing, type Screen } from "./use_drawing.ts";
import { useSize } from "./use_size.ts";
import type { Move } from "./walk_keys.ts";

export interface FlameGraphProps {
  model: GraphModel;
  zoomed: TreeNode | null;
  onZoom: (node: TreeNode | null) => void;
  found: Found | null;
  colourMode: ColourMode;
  /* The outermost frames are below. */
  isFlame: boolean;
  /* What the box of everything is called. */
  title: string;
  views: readonly string[];
  /* "/" was pressed. */
  onSearch: () => void;
  /* Gets the picture, for downloads. */
  pictureRef?: { current: Picture | null };
}

const HELP = "Flame graph. Arrows move, Enter zooms in, Escape zooms out, slash searches.";
const MOVES: Readonly<Record<string, Move>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  Home: "first",
  End: "last",
};

function moveOf(key: string, isFlame: boolean): Move | null {
  if (key === "ArrowDown") return isFlame ? "back" : "away";
  if (key === "ArrowUp") return isFlame ? "away" : "back";
  return MOVES[key] ?? null;
}

/* What a screen reader says of a box. */
function spoken(info: Info): string {
  return [info.name, ...info.facts.map(({ title, text }) => `${title} ${text}`)].join(". ");
}

/* What keys and clicks do. */
function makeActions(props: FlameGraphProps, boxes: Boxes, say: (text: string) => void) {
  const { model, zoomed, onZoom, isFlame } = props;
  const enter = (box: Box | null) => {
    if (!box) return;
    boxes.setFocused(box);
    if (box.node) onZoom(box.node);
    else onZoom(box.mergedCount > 0 ? box.under : null);
  };
  const zoomOut = () => {
    boxes.point(null);
    if (zoomed) onZoom(zoomed.parent);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moveOf(event.key, isFlame);
    const node = boxes.focused?.node;
    say("");
    if (move) boxes.move(move);
    else if (event.key === "Enter" || event.key === " ") enter(boxes.focused);
    else if (event.key === "Escape") zoomOut();
    else if (event.key === "/") props.onSearch();
    else if (event.key === "c" && node) copyStack(model, node, say);
    else return;
    event.preventDefault();
  };
  const onContextMenu = (event: MouseEvent) => {
    const under = boxes.under(event);
    if (!under) return;
    event.preventDefault();
    boxes.setFocused(under.box);
  };
  return {
    onKeyDown,
    onContextMenu,
    onClick: (event: MouseEvent) => enter(boxes.under(event)?.box ?? null),
    onMouseMove: (event: MouseEvent) => boxes.point(event),
    onMouseLeave: () => boxes.point(null),
  };
}

/* A row in which no box has this share of the whole divides the memory. */
const NEARLY_ALL = 0.9;

/*
 * How far to scroll a graph that begins with many functions that hold nearly everything, such as
 * main and what it calls: to the first row that divides the memory, with some rows above it. 0: the
 * row is in the upper half of what is seen anyway.
 */
export function dividedAt(layout: Layout, seenPx: number): number {
  let row = layout.firstRow;
  const isDivided = (boxes: readonly Box[]) =>
    boxes.every((box) => box.isOuter || box.width < NEARLY_ALL * layout.width);
  while (row < layout.lastRow && !isDivided(layout.rows.get(row) ?? [])) row++;
  const top = topOf(layout, false, row);
  return top <= seenPx / 2 ? 0 : top - Math.floor(seenPx / 3 / ROW_PX) * ROW_PX;
}

/*
 * Scrolls to where the graph begins: its first row or the first one that divides the memory, its
 * last row, or the pivot in the middle.
 */
function showRoots({ scroller }: Screen, layout: Layout, isFlame: boolean): void {
  const { current } = scroller;
  if (!current) return;
  const isBoth = layout.firstRow < 0;
  const middle = topOf(layout, isFlame, 0) - current.clientHeight / 2;
  const start = isFlame ? current.scrollHeight : dividedAt(layout, current.clientHeight);
  current.scrollTop = isBoth ? middle : start;
}

const rowsAbove = ({ scroller }: Screen) => Math.floor((scroller.current?.scrollTop ?? 0) / ROW_PX);

/* The picture with its focus, drawn on the canvas. */
function usePicture(props: FlameGraphProps, screen: Screen, width: number, hasFocus: boolean) {
  const { model, zoomed, found, colourMode, isFlame, title } = props;
  const layout = useMemo(() => layOut(model.tree, zoomed, width), [model, zoomed, width]);
  const colouring = useMemo(() => colouringOf(model, colourMode), [model, colourMode]);
  const plain = useMemo(
    () => makePicture({ model, layout, isFlame, colouring, found, title }),
    [model, layout, isFlame, colouring, found, title],
  );
  const boxes = useBoxes({ screen, model, layout, isFlame, zoomed });
  const focused = hasFocus ? boxes.focused : null;
  const picture: Picture = { ...plain, focused, hovered: boxes.pointed?.box ?? null };
  if (props.pictureRef) props.pictureRef.current = picture;
  return { layout, colouring, boxes, draw: useDrawing(screen, picture) };
}

export function FlameGraph(props: FlameGraphProps) {
  const { model, zoomed, onZoom, isFlame, title } = props;
  const screen: Screen = {
    canvas: useRef<HTMLCanvasElement>(null),
    scroller: useRef<HTMLDivElement>(null),
  };
  const isPrinting = usePrinting();
  const [hasFocus, setHasFocus] = useState(false);
  const [message, say] = useState("");
  const [above, setAbove] = useState(0);
  const showTop = () => screen.scroller.current?.scrollTo(0, 0);
  const width = useSize(screen.scroller);
  const { layout, colouring, boxes, draw } = usePicture(props, screen, width, hasFocus);
  const infoFor = (box: Box | null) => box && infoOf(model, box, zoomed, title);
  const { focused, pointed } = boxes;
  const focusedInfo = useMemo(() => infoFor(focused), [model, focused, zoomed, title]);
  const pointedInfo = useMemo(() => infoFor(pointed?.box ?? null), [model, pointed?.box, zoomed]);
  const place = pointed?.place ?? (hasFocus ? boxes.focusedPlace() : null);
  const tip = pointedInfo ?? focusedInfo;
  useEffect(() => showRoots(screen, layout, isFlame), [isFlame, model, width > 0]);
  return (
    <div class="graph">
      <div class="graph-head">
        <Path model={model} zoomed={zoomed} title={title} onZoom={onZoom} />
        {!zoomed && <p class="muted">{hintOf(model, isFlame)}</p>}
        {above > 0 && (
          <button type="button" class="not-printed" onClick={showTop}>
            ↑ {plural(above, "more row")}
          </button>
        )}
      </div>
      {isPrinting && <Printed {...props} colouring={colouring} />}
      <div class={isPrinting ? "graph-frame not-printed" : "graph-frame"}>
        <div
          class="graph-scroll"
          ref={screen.scroller}
          tabIndex={0}
          role="application"
          aria-roledescription="flame graph"
          aria-label={HELP}
          onScroll={() => {
            draw();
            setAbove(rowsAbove(screen));
          }}
          onFocus={() => setHasFocus(true)}
          onBlur={() => setHasFocus(false)}
          {...makeActions(props, boxes, say)}
        >
          <div class="graph-space" style={{ height: `${heightOf(layout)}px` }}>
            <canvas class="graph-canvas" ref={screen.canvas} aria-hidden="true" />
          </div>
        </div>
        {tip && place && <Tooltip info={tip} place={place} width={width} />}
      </div>
      <p class={message ? "graph-message" : "hidden-but-read"} role="status">
        {message || (hasFocus && focusedInfo ? spoken(focusedInfo) : "")}
      </p>
      <Legend colouring={colouring} mode={props.colourMode} />
      <Details
        {...{ model, zoomed, onZoom, say, views: props.views }}
        box={focused ?? pointed?.box ?? null}
        info={focusedInfo ?? pointedInfo}
      />
      <FrameList model={model} zoomed={zoomed} onZoom={onZoom} />
    </div>
  );
}
