/*
 * Draws the boxes of a flame graph that are in sight on a canvas.
 */
import { colourOf } from "../shell/theme.ts";
import type { Box, Layout } from "./layout.ts";

export const ROW_PX = 20;
const TEXT_PX = 12;
const PADDING_PX = 4;
/* In a narrower box nobody can read a text. */
const LABEL_LEAST_PX = 24;
const FIGURE_GAP_PX = 24;

export interface Picture {
  layout: Layout;
  /* The outermost boxes are below. */
  isFlame: boolean;
  /* A variable of style/theme.css. */
  colour: (box: Box) => string;
  /* The text of a box of this width. */
  label: (box: Box, width: number, measure: (text: string) => number) => string;
  /* Its figure, for the right end of the box if there is room; "": that of the box before it. */
  figure: (box: Box) => string;
  /* Whether a search found the box; null: nothing is searched for. */
  isFound: ((box: Box) => boolean) | null;
  focused: Box | null;
  hovered: Box | null;
}

/* Where a row begins, in pixels from the top of the whole picture. */
export function topOf(layout: Layout, isFlame: boolean, row: number): number {
  return (isFlame ? layout.lastRow - row : row - layout.firstRow) * ROW_PX;
}

export function heightOf(layout: Layout): number {
  return (layout.lastRow - layout.firstRow + 1) * ROW_PX;
}

/* The row at this distance from the top. */
export function rowAt(layout: Layout, isFlame: boolean, y: number): number {
  const at = Math.floor(y / ROW_PX);
  return isFlame ? layout.lastRow - at : layout.firstRow + at;
}

export function fontOf(): string {
  return `${TEXT_PX}px ${getComputedStyle(document.body).fontFamily}`;
}

function outline(context: CanvasRenderingContext2D, box: Box, y: number, colour: string): void {
  const width = Math.max(box.width - 1, 2);
  context.lineWidth = 2;
  context.strokeStyle = colourOf(colour);
  context.strokeRect(box.x + 1, y + 1, Math.max(width - 2, 1), ROW_PX - 3);
}

function hatch(context: CanvasRenderingContext2D, box: Box, y: number): void {
  context.save();
  context.beginPath();
  context.rect(box.x, y, Math.max(box.width - 1, 0.5), ROW_PX - 1);
  context.clip();
  context.lineWidth = 1;
  context.strokeStyle = colourOf("--line-strong");
  context.beginPath();
  for (let x = box.x - ROW_PX; x < box.x + box.width; x += 6) {
    context.moveTo(x, y + ROW_PX);
    context.lineTo(x + ROW_PX, y);
  }
  context.stroke();
  context.restore();
}

/* The figure of a box, with its width, if this room is left beside its name. */
export function figureIfFits(
  picture: Picture,
  box: Box,
  room: number,
  measure: (text: string) => number,
): { text: string; width: number } | null {
  const text = picture.figure(box);
  const width = text === "" ? 0 : measure(text) + PADDING_PX;
  return text !== "" && width + FIGURE_GAP_PX <= room ? { text, width } : null;
}

function paintBox(
  context: CanvasRenderingContext2D,
  picture: Picture,
  box: Box,
  y: number,
  measure: (text: string) => number,
): void {
  const isFaded = (picture.isFound !== null && !picture.isFound(box)) || box.isOuter;
  const width = Math.max(box.width > 3 ? box.width - 1 : box.width, 0.5);
  context.fillStyle = colourOf(picture.colour(box));
  context.globalAlpha = isFaded ? 0.45 : 1;
  context.fillRect(box.x, y, width, ROW_PX - 1);
  context.globalAlpha = 1;
  if (box.mergedCount > 0 && box.width >= 3) hatch(context, box, y);
  if (picture.isFound?.(box)) outline(context, box, y, "--accent");
  if (box.width < LABEL_LEAST_PX || box.mergedCount > 0) return;
  const text = picture.label(box, width - 2 * PADDING_PX, measure);
  if (text === "") return;
  context.fillStyle = colourOf("--text");
  context.fillText(text, box.x + PADDING_PX, y + ROW_PX / 2);
  const figure = figureIfFits(picture, box, width - measure(text), measure);
  if (figure) context.fillText(figure.text, box.x + width - figure.width, y + ROW_PX / 2);
}

/* Lines above and below the row from which the graph goes in both directions. */
function markPivot(context: CanvasRenderingContext2D, y: number, width: number): void {
  context.fillStyle = colourOf("--accent");
  context.fillRect(0, y - 2, width, 2);
  context.fillRect(0, y + ROW_PX - 2, width, 2);
}

/* Draws rows between `top` and `top + height`; the canvas shows this part. */
export function paint(
  context: CanvasRenderingContext2D,
  picture: Picture,
  top: number,
  height: number,
): void {
  const { layout, isFlame } = picture;
  const known = new Map<string, number>();
  const measure = (text: string) => {
    let width = known.get(text);
    if (width === undefined) known.set(text, (width = context.measureText(text).width));
    return width;
  };
  context.clearRect(0, 0, layout.width, height);
  context.font = fontOf();
  context.textBaseline = "middle";
  context.direction = "ltr";
  for (const [row, boxes] of layout.rows) {
    const y = topOf(layout, isFlame, row) - top;
    if (y + ROW_PX < 0 || y > height) continue;
    for (const box of boxes) paintBox(context, picture, box, y, measure);
  }
  if (layout.firstRow < 0) markPivot(context, topOf(layout, isFlame, 0) - top, layout.width);
  for (const box of [picture.hovered, picture.focused]) {
    if (box) outline(context, box, topOf(layout, isFlame, box.row) - top, "--text");
  }
}
