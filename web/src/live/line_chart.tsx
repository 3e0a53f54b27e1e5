/*
 * Live and resident memory over time, drawn by uPlot; a gap where nothing is known.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { colourOf, onThemeChange } from "../shell/theme.ts";
import { sizeTick, timeTick } from "./ticks.ts";
import type { Series } from "./series.ts";

const HEIGHT = 190;
const FONT = "12px system-ui, sans-serif";
/* The least upper end of the axis. */
const LEAST_BYTES = 1024;
const TIME_STEPS = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600];
const SIZE_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

function optionsOf(width: number): uPlot.Options {
  const axis: uPlot.Axis = {
    font: FONT,
    stroke: () => colourOf("--muted"),
    grid: { stroke: () => colourOf("--line"), width: 1 },
    ticks: { stroke: () => colourOf("--line"), width: 1 },
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false },
      y: { range: (_, _min, max) => [0, Math.max(max * 1.08, LEAST_BYTES)] },
    },
    axes: [
      {
        ...axis,
        incrs: TIME_STEPS,
        space: 70,
        size: 30,
        values: (_, splits) => splits.map(timeTick),
      },
      { ...axis, incrs: SIZE_STEPS, size: 72, values: (_, splits) => splits.map(sizeTick) },
    ],
    series: [
      {},
      {
        label: "live",
        stroke: () => colourOf("--series-1"),
        fill: () => colourOf("--tint-1"),
        width: 2,
        spanGaps: false,
        points: { show: false },
      },
      {
        label: "resident",
        stroke: () => colourOf("--series-2"),
        width: 2,
        dash: [7, 4],
        spanGaps: false,
        points: { show: false },
      },
    ],
  };
}

interface Props {
  series: Series;
  hasResident: boolean;
  /* Changes when the series has. */
  version: number;
  label: string;
}

export function LineChart({ series, hasResident, version, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(optionsOf(element.clientWidth), [[], [], []], element);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    const stop = onThemeChange(() => made.redraw(false, true));
    return () => {
      stop();
      observer.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => {
    const resident = hasResident ? series.rss : series.rss.map(() => null);
    plot.current?.setData([series.times.slice(), series.live.slice(), resident.slice()]);
  }, [series, hasResident, version]);
  return (
    <div
      class="live-chart"
      ref={box}
      role="img"
      aria-label={label}
      style={{ height: `${HEIGHT}px` }}
    />
  );
}
