/*
 * Keeps a canvas equal to a picture: after each change of the component, when colours change, and
 * when somebody calls what it returns (the graph was scrolled).
 */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { onThemeChange } from "../shell/theme.ts";
import { paint, type Picture } from "./paint.ts";

/* The element with the canvas in it, whose scroll position says which part is in sight. */
export interface Screen {
  canvas: { current: HTMLCanvasElement | null };
  scroller: { current: HTMLDivElement | null };
}

function drawOn({ canvas, scroller }: Screen, picture: Picture): void {
  const element = canvas.current;
  const context = element?.getContext("2d");
  if (!element || !context || !scroller.current) return;
  const ratio = window.devicePixelRatio || 1;
  const height = Math.max(1, scroller.current.clientHeight);
  const width = Math.max(1, picture.layout.width);
  /* Setting a size empties the canvas, and costs. */
  const [pixelsX, pixelsY] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (element.width !== pixelsX) element.width = pixelsX;
  if (element.height !== pixelsY) element.height = pixelsY;
  element.style.width = `${width}px`;
  element.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint(context, picture, scroller.current.scrollTop, height);
}

export function useDrawing(screen: Screen, picture: Picture): () => void {
  const draw = () => drawOn(screen, picture);
  const latest = useRef(draw);
  latest.current = draw;
  useLayoutEffect(draw);
  useEffect(() => onThemeChange(() => latest.current()), []);
  return () => latest.current();
}
