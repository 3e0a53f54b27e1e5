/*
 * A flame graph as a file: the picture as SVG or PNG, the stacks as folded text.
 */
import { pathOf, walk, type TreeNode } from "../data/call_tree.ts";
import { functionName } from "../data/names.ts";
import { colourOf } from "../shell/theme.ts";
import type { GraphModel } from "./model.ts";
import { figureIfFits, fontOf, heightOf, paint, ROW_PX, topOf, type Picture } from "./paint.ts";

/* A canvas of a browser has no more rows of pixels than this, on each of them. */
const CANVAS_PX_MAX = 16_000;
/* The limit of a file: of a million stacks nobody reads more. */
const LINES_MAX = 2_000_000;

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

export function measureOf(): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return (text) => 7 * text.length;
  context.font = fontOf();
  return (text) => context.measureText(text).width;
}

/* A box as it is drawn: its place in pixels, its colour (a variable), and its texts; "": none. */
export interface DrawnBox {
  x: number;
  y: number;
  width: number;
  colour: string;
  isFaded: boolean;
  text: string;
  figure: string;
}

/* All boxes of a picture, also those that are scrolled out of sight. */
export function* drawnBoxes(
  picture: Picture,
  measure: (text: string) => number,
): Generator<DrawnBox> {
  const { layout, isFlame, isFound } = picture;
  for (const [row, boxes] of layout.rows) {
    const y = topOf(layout, isFlame, row);
    for (const box of boxes) {
      const width = Math.max(0.5, box.width > 3 ? box.width - 1 : box.width);
      const text = width < 24 ? "" : picture.label(box, width - 8, measure);
      const room = width - measure(text);
      const figure = text === "" ? null : figureIfFits(picture, box, room, measure);
      const isFaded = box.isOuter || (isFound !== null && !isFound(box));
      const colour = picture.colour(box);
      yield { x: box.x, y, width, colour, isFaded, text, figure: figure?.text ?? "" };
    }
  }
}

/* The whole picture. */
export function svgOf(picture: Picture, title: string): string {
  const { layout } = picture;
  const parts: string[] = [];
  for (const { x, y, width, colour, isFaded, text, figure } of drawnBoxes(picture, measureOf())) {
    parts.push(
      `<rect x="${x.toFixed(2)}" y="${y}" width="${width.toFixed(2)}" height="${ROW_PX - 1}"` +
        ` fill="${colourOf(colour)}"${isFaded ? ' fill-opacity="0.45"' : ""}/>`,
    );
    const middle = y + ROW_PX / 2;
    const start = `x="${(x + 4).toFixed(2)}" y="${middle}"`;
    if (text !== "") parts.push(`<text ${start}>${escaped(text)}</text>`);
    const end = `x="${(x + width - 4).toFixed(2)}" y="${middle}"`;
    if (figure !== "") parts.push(`<text ${end} text-anchor="end">${escaped(figure)}</text>`);
  }
  const [width, height] = [layout.width, heightOf(layout)];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"` +
    ` viewBox="0 0 ${width} ${height}">\n<title>${escaped(title)}</title>\n` +
    `<rect width="100%" height="100%" fill="${colourOf("--back")}"/>\n` +
    `<g font-family="sans-serif" font-size="12" dominant-baseline="central"` +
    ` fill="${colourOf("--text")}">\n${parts.join("\n")}\n</g>\n</svg>\n`
  );
}

/* The whole picture on a canvas of its own, twice as fine as on the screen if possible. */
export function canvasOf(picture: Picture): HTMLCanvasElement {
  const height = Math.min(heightOf(picture.layout), CANVAS_PX_MAX);
  const scale = Math.max(1, Math.min(2, CANVAS_PX_MAX / height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.layout.width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d");
  if (context) {
    context.scale(scale, scale);
    paint(context, { ...picture, focused: null, hovered: null }, 0, height);
  }
  return canvas;
}

/* In folded text, ";" separates functions, and a line ends with a number. */
const foldedName = (name: string) => name.replace(/;/g, ":");

/*
 * Lines "main;load;parse 123" as flame graph tools read them, the outermost function first: of the
 * zoomed box and what is behind it, or of everything.
 */
export function foldedOf(model: GraphModel, zoomed: TreeNode | null): string {
  const lines: string[] = [];
  const names = new Map<number, string>();
  const nameOf = (node: TreeNode) => {
    const index = model.functionOf(node);
    let name = names.get(index);
    if (name === undefined) {
      name = foldedName(functionName(model.profile, index));
      names.set(index, name);
    }
    return name;
  };
  const isUp = model.tree.direction === "up" || (zoomed !== null && zoomed.depth < 0);
  const add = (node: TreeNode) => {
    /* The callers of a pivot have what it has, in the other direction. */
    if (!isUp && node.depth < 0) return;
    const value = Math.round(isUp ? endsHere(model, node) : node.self);
    if (value === 0 || lines.length >= LINES_MAX) return;
    const path = pathOf(node).map(nameOf);
    lines.push(`${(isUp ? path.reverse() : path).join(";")} ${value}`);
  };
  walk(model.tree, add, zoomed);
  return lines.join("\n") + (lines.length > 0 ? "\n" : "");
}

/* Upwards: what of a box has no further caller. */
function endsHere(model: GraphModel, node: TreeNode): number {
  const through = model.tree.childrenOf(node).reduce((sum, child) => sum + child.total, 0);
  return node.total - through;
}
