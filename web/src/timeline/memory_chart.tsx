/*
 * The main chart: live memory, heap on heap or process on process; and as lines the live memory of
 * all heaps between the snapshots, and the resident memory.
 */
import { useMemo } from "preact/hooks";

import type { Selection } from "../data/selection.ts";
import { countTick, SIZE_STEPS, sizeTick } from "./axis.ts";
import { Chart, type Line } from "./chart.tsx";
import { aligned, stacked, type Curve } from "./curves.ts";
import { Legend, type Entry } from "./curve_legend.tsx";
import { timeText } from "./marks.ts";
import type { Picture } from "./what_is_shown.ts";
import type { Range } from "./range.ts";

const HEIGHT = 260;
/* With more snapshots than this, a point at each would hide the curve. */
const POINTS_MOST = 60;

const SERIES_COUNT = 8;

const colourOfCurve = (i: number, kind: "series" | "tint") => `--${kind}-${1 + (i % SERIES_COUNT)}`;

interface Above {
  curve: Curve;
  colour: string;
  fill?: string;
  isDashed: boolean;
}

/* The lines that lie over the stack. */
function linesAbove({ curves, live, rss }: Picture): Above[] {
  const lines: Above[] = [];
  if (live) {
    const isAlone = curves.length === 0;
    const colour = isAlone ? colourOfCurve(0, "series") : "--text";
    lines.push({ curve: live, colour, isDashed: false });
    if (isAlone) lines[0].fill = colourOfCurve(0, "tint");
  }
  if (rss) lines.push({ curve: rss, colour: "--text", isDashed: true });
  return lines;
}

/* The top of the stack comes first: what is drawn later covers it. */
function linesOf(picture: Picture): { times: number[]; lines: Line[] } {
  const { times, sums } = stacked(picture.curves);
  const parts = sums.map((values) => ({ times, values }));
  const above = linesAbove(picture);
  const [all, ...columns] = aligned([...parts, ...above.map((each) => each.curve)]);
  const lines: Line[] = picture.curves.map((curve, i) => ({
    name: curve.name,
    values: columns[i],
    stroke: colourOfCurve(i, "series"),
    fill: colourOfCurve(i, "tint"),
    isStep: curve.isStep,
    hasPoints: picture.process !== null && picture.snapshots.length <= POINTS_MOST,
  }));
  lines.reverse();
  above.forEach(({ curve, colour, fill, isDashed }, i) =>
    lines.push({
      name: curve.name,
      values: columns[parts.length + i],
      stroke: colour,
      ...(fill === undefined ? {} : { fill }),
      isStep: curve.isStep,
      isDashed,
    }),
  );
  return { times: all, lines };
}

interface Props {
  picture: Picture;
  selection: Selection;
  range: Range;
  rules: readonly number[];
  /* The peak of what is drawn, if it was recorded. */
  peak: { time: number; value: number } | null;
  cursor: number | null;
  onRange: (range: Range | null) => void;
  onCursor: (time: number | null) => void;
}

export function MemoryChart(props: Props) {
  const { picture, selection } = props;
  const { times, lines } = useMemo(() => linesOf(picture), [picture]);
  const { isCount, format } = selection.measure;
  const when = props.cursor === null ? "at the end" : timeText(props.cursor, picture.origin);
  const entries: Entry[] = [
    ...picture.curves.map((curve, i) => ({ curve, colour: colourOfCurve(i, "series") })),
    ...linesAbove(picture).map(({ curve, colour, isDashed }) => ({ curve, colour, isDashed })),
  ];
  return (
    <>
      <Legend entries={entries} time={props.cursor} format={format} when={when} />
      <Chart
        times={times}
        lines={lines}
        range={props.range}
        origin={picture.origin}
        height={HEIGHT}
        tick={isCount ? countTick : sizeTick}
        {...(isCount ? {} : { steps: SIZE_STEPS })}
        least={Math.max(1, 1.04 * (props.peak?.value ?? 0))}
        rules={props.rules}
        peak={props.peak}
        onRange={props.onRange}
        onCursor={props.onCursor}
      />
    </>
  );
}
