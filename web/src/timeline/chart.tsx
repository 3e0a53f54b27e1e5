/*
 * One chart over time, drawn by uPlot. All charts of the timeline have equal margins, so that what
 * happened at one moment stands in one vertical line; the mark lane relies on that.
 *
 * Dragging over the chart, with the mouse or a finger, reports a range, a double click the whole;
 * nothing is zoomed here.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { colourOf, onThemeChange } from "../shell/theme.ts";
import { TIME_STEPS, timeTick } from "./axis.ts";
import type { Range } from "./range.ts";
import { brushByTouch } from "./touch_brush.ts";

/* Widths beside the plot, in pixels. */
export const LEFT = 68;
export const RIGHT = 16;
/* A drag over fewer pixels is a click. */
const LEAST_DRAG = 6;

export interface Line {
  name: string;
  values: readonly (number | null)[];
  /* Variables of style/theme.css. */
  stroke: string;
  fill?: string;
  isStep: boolean;
  isDashed?: boolean;
  hasPoints?: boolean;
}

interface Props {
  times: readonly number[];
  lines: readonly Line[];
  range: Range;
  /* The time that the axis calls 0. */
  origin: number;
  height: number;
  tick: (value: number) => string;
  steps?: readonly number[];
  /* The least upper end of the vertical axis. */
  least: number;
  /* Times of vertical lines. */
  rules: readonly number[];
  /* A point that is no value of a line: the peak. */
  peak?: { time: number; value: number } | null;
  onRange: (range: Range | null) => void;
  onCursor: (time: number | null) => void;
}

const FONT = "12px system-ui, sans-serif";

function seriesOf(line: Line): uPlot.Series {
  const series: uPlot.Series = {
    label: line.name,
    stroke: () => colourOf(line.stroke),
    width: line.fill ? 1.5 : 2,
    spanGaps: true,
    points: { show: line.hasPoints ?? false, size: 5 },
  };
  if (line.fill !== undefined) {
    const fill = line.fill;
    series.fill = () => colourOf(fill);
  }
  if (line.isDashed) series.dash = [7, 4];
  if (line.isStep && uPlot.paths.stepped) series.paths = uPlot.paths.stepped({ align: 1 });
  return series;
}

/* Thin dashed lines where marks stand. */
function drawRules(plot: uPlot, rules: readonly number[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colourOf("--line-strong");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const time of rules) {
    const x = Math.round(plot.valToPos(time, "x", true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

const PEAK_PIXELS = 6;

/* A triangle with its tip at the peak. */
function drawPeak(plot: uPlot, peak: NonNullable<Props["peak"]>): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(peak.time, "x", true);
  const y = plot.valToPos(peak.value, "y", true);
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  const size = PEAK_PIXELS * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = colourOf("--grew");
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x + size, y + 1.7 * size);
  ctx.lineTo(x - size, y + 1.7 * size);
  ctx.fill();
  ctx.restore();
}

function axesOf(props: Props): uPlot.Axis[] {
  const common: uPlot.Axis = {
    font: FONT,
    stroke: () => colourOf("--muted"),
    grid: { stroke: () => colourOf("--line"), width: 1 },
    ticks: { stroke: () => colourOf("--line"), width: 1 },
  };
  const { origin, tick, steps } = props;
  return [
    {
      ...common,
      incrs: [...TIME_STEPS],
      space: 80,
      size: 30,
      splits: (plot, _axis, min, max, step) => {
        const at: number[] = [];
        const first = Math.ceil((min - origin) / step - 1e-9);
        const room = plot.width > 0 ? 200 : 0;
        for (let n = first; origin + n * step <= max && at.length < room; n++) {
          at.push(origin + n * step);
        }
        return at;
      },
      values: (_, splits, _axis, _space, step) =>
        splits.map((time) => timeTick(Math.round((time - origin) * 1000) / 1000, step)),
    },
    {
      ...common,
      size: LEFT,
      gap: 4,
      ...(steps ? { incrs: [...steps] } : {}),
      space: 26,
      values: (_, splits) => splits.map(tick),
    },
  ];
}

function optionsOf(props: Props, width: number, current: () => Props): uPlot.Options {
  return {
    width,
    height: props.height,
    padding: [8, RIGHT, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [current().range.from, current().range.to] },
      y: { range: (_, _min, max) => [0, Math.max(max * 1.06, current().least)] },
    },
    axes: axesOf(props),
    series: [{}, ...props.lines.map(seriesOf)],
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
      sync: { key: "timeline", setSeries: false },
      bind: {
        dblclick: () => () => {
          current().onRange(null);
          return null;
        },
      },
    },
    hooks: {
      draw: [
        (plot) => {
          const { rules, peak } = current();
          drawRules(plot, rules);
          if (peak) drawPeak(plot, peak);
        },
      ],
      setCursor: [
        (plot) => {
          const { left } = plot.cursor;
          const isInside = left !== undefined && left !== null && left >= 0;
          current().onCursor(isInside ? plot.posToVal(left, "x") : null);
        },
      ],
      setSelect: [
        (plot) => {
          const { left, width: chosen } = plot.select;
          if (chosen < LEAST_DRAG) return;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          const from = plot.posToVal(left, "x");
          current().onRange({ from, to: plot.posToVal(left + chosen, "x") });
        },
      ],
    },
  };
}

function dataOf({ times, lines }: Props): uPlot.AlignedData {
  return [[...times], ...lines.map((line) => [...line.values])];
}

export function Chart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const current = useRef(props);
  current.current = props;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(
      optionsOf(props, element.clientWidth, () => current.current),
      dataOf(props),
      element,
    );
    plot.current = made;
    const stopTouch = brushByTouch(made, (left, right) =>
      current.current.onRange({ from: made.posToVal(left, "x"), to: made.posToVal(right, "x") }),
    );
    const observer = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: props.height });
    });
    observer.observe(element);
    const stop = onThemeChange(() => made.redraw(false, true));
    return () => {
      stop();
      stopTouch();
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [props.times, props.lines, props.height, props.tick, props.origin]);
  useEffect(() => {
    plot.current?.setScale("x", { min: props.range.from, max: props.range.to });
    plot.current?.redraw(false, true);
  }, [props.range.from, props.range.to, props.rules, props.peak, props.least]);
  return <div class="timeline-chart" ref={box} style={{ height: `${props.height}px` }} />;
}
