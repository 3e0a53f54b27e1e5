/*
 * Choosing a range by finger or pen: uPlot itself knows the mouse only.
 *
 * A drag to the side is ours; one up or down scrolls the page (the style `touch-action: pan-y`):
 * the browser then cancels the pointer. A tap shows the values at its place.
 */
import type uPlot from "uplot";

/* A drag over fewer pixels is a tap. */
const LEAST_DRAG = 6;

interface Drag {
  pointer: number;
  from: number;
}

/* Returns what removes it again. `onChosen` gets both ends in pixels of the plot. */
export function brushByTouch(
  plot: uPlot,
  onChosen: (left: number, right: number) => void,
): () => void {
  const { over } = plot;
  let drag: Drag | null = null;
  const place = (event: PointerEvent) => {
    const box = over.getBoundingClientRect();
    return Math.min(Math.max(event.clientX - box.left, 0), box.width);
  };
  const show = (left: number, width: number) =>
    plot.setSelect({ left, top: 0, width, height: width > 0 ? over.clientHeight : 0 }, false);
  const down = (event: PointerEvent) => {
    if (event.pointerType === "mouse" || !event.isPrimary) return;
    drag = { pointer: event.pointerId, from: place(event) };
    over.setPointerCapture(event.pointerId);
    plot.setCursor({ left: drag.from, top: over.clientHeight / 2 });
  };
  const move = (event: PointerEvent) => {
    if (event.pointerId !== drag?.pointer) return;
    const at = place(event);
    show(Math.min(drag.from, at), Math.abs(at - drag.from));
    plot.setCursor({ left: at, top: over.clientHeight / 2 });
  };
  const up = (event: PointerEvent) => {
    if (event.pointerId !== drag?.pointer) return;
    const [left, right] = [Math.min(drag.from, place(event)), Math.max(drag.from, place(event))];
    drag = null;
    show(0, 0);
    if (right - left >= LEAST_DRAG) onChosen(left, right);
  };
  const cancel = () => {
    if (drag) show(0, 0);
    drag = null;
  };
  over.addEventListener("pointerdown", down);
  over.addEventListener("pointermove", move);
  over.addEventListener("pointerup", up);
  over.addEventListener("pointercancel", cancel);
  return () => {
    over.removeEventListener("pointerdown", down);
    over.removeEventListener("pointermove", move);
    over.removeEventListener("pointerup", up);
    over.removeEventListener("pointercancel", cancel);
  };
}
