/*
 * The figures of a box, next to it: below the pointer, or below the focused box.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Facts } from "./box_details.tsx";
import type { Info } from "./info.ts";

/* In pixels from the upper left corner of the graph. */
export interface TooltipPlace {
  x: number;
  y: number;
}

interface Props {
  info: Info;
  place: TooltipPlace;
  /* of the graph */
  width: number;
}

export function Tooltip({ info, place, width }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState(0);
  useLayoutEffect(() => setSize(element.current?.offsetWidth ?? 0), [info]);
  const left = Math.max(0, Math.min(place.x, width - size));
  return (
    <div
      class="graph-tip"
      role="tooltip"
      ref={element}
      style={{ left: `${left}px`, top: `${place.y}px` }}
    >
      <Facts info={info} />
    </div>
  );
}
