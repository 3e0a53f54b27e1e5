/*
 * The whole flame graph on paper, as wide as the paper. A picture cannot be broken between two
 * pages, so a graph is many small ones, one below the other.
 */
import { useMemo } from "preact/hooks";

import type { Colouring } from "./colours.ts";
import { drawnBoxes, measureOf, type DrawnBox } from "./export.ts";
import type { FlameGraphProps } from "./flame_graph.tsx";
import { layOut } from "./layout.ts";
import { heightOf, ROW_PX } from "./paint.ts";
import { makePicture } from "./picture.ts";

/* The width for which boxes and texts are laid out; the paper scales it. */
const WIDTH_PX = 1000;
const ROWS_OF_PART = 8;
const PART_PX = ROWS_OF_PART * ROW_PX;

function Box({ x, y, width, colour, isFaded, text, figure }: DrawnBox) {
  const middle = y + ROW_PX / 2;
  return (
    <>
      <rect
        x={x}
        y={y}
        width={width}
        height={ROW_PX - 1}
        style={{ fill: `var(${colour})` }}
        fill-opacity={isFaded ? 0.45 : 1}
      />
      {text !== "" && (
        <text x={x + 4} y={middle}>
          {text}
        </text>
      )}
      {figure !== "" && (
        <text x={x + width - 4} y={middle} text-anchor="end">
          {figure}
        </text>
      )}
    </>
  );
}

export function Printed(props: FlameGraphProps & { colouring: Colouring | null }) {
  const { model, zoomed, isFlame, found, title, colouring } = props;
  const layout = useMemo(() => layOut(model.tree, zoomed, WIDTH_PX), [model, zoomed]);
  const boxes = useMemo(() => {
    const picture = makePicture({ model, layout, isFlame, colouring, found, title });
    return [...drawnBoxes(picture, measureOf())];
  }, [model, layout, isFlame, colouring, found, title]);
  const height = heightOf(layout);
  const parts = Array.from({ length: Math.ceil(height / PART_PX) }, (_, i) => i * PART_PX);
  return (
    <div class="graph-printed" role="img" aria-label={title}>
      {parts.map((top) => (
        <svg
          key={top}
          viewBox={`0 ${top} ${WIDTH_PX} ${Math.min(PART_PX, height - top)}`}
          aria-hidden="true"
        >
          {boxes
            .filter(({ y }) => y >= top && y < top + PART_PX)
            .map((box, i) => (
              <Box key={i} {...box} />
            ))}
        </svg>
      ))}
    </div>
  );
}
