/*
 * The figures of a box, next to it: below the pointer, or below the focused box; above it where the
 * window ends.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Facts } from "./details.tsx";
import type { Info } from "./info.ts";

/* In pixels from the upper left corner of the graph. */
export interface TooltipPlace {
  x: number;
  y: number;
}

/* So far above the place that neither the pointer nor the box is covered. */
const ABOVE_PX = 30;

interface Props {
  info: Info;
  place: TooltipPlace;
  /* of the graph */
  width: number;
}

export function Tooltip({ info, place, width }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState({ left: place.x, top: place.y });
  useLayoutEffect(() => {
    const { current } = element;
    if (!current?.offsetParent) return;
    const { offsetWidth, offsetHeight } = current;
    const end = current.offsetParent.getBoundingClientRect().top + place.y + offsetHeight;
    const above = place.y - offsetHeight - ABOVE_PX;
    const isCut = end > window.innerHeight;
    const left = Math.max(0, Math.min(place.x, width - offsetWidth));
    setMoved({ left, top: isCut ? above : place.y });
  }, [info, place.x, place.y, width]);
  return (
    <div
      class="graph-tip"
      role="tooltip"
      ref={element}
      style={{ left: `${moved.left}px`, top: `${moved.top}px` }}
    >
      <Facts info={info} />
    </div>
  );
}
