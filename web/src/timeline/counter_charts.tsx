/*
 * Counters below the memory, each in a chart of its own, and the menu in which they are chosen.
 */
import { useMemo } from "preact/hooks";

import { cut } from "../format.ts";
import { countTick, SIZE_STEPS, sizeTick } from "./axis.ts";
import { Chart, type Line } from "./chart.tsx";
import { formatOf, percent, type Counter } from "./counters.ts";
import { Legend } from "./curve_legend.tsx";
import type { Range } from "./range.ts";

const HEIGHT = 110;
const percentTick = (value: number) => percent(value).replace(".0", "");

interface ChartProps {
  counter: Counter;
  colour: string;
  range: Range;
  origin: number;
  rules: readonly number[];
  cursor: number | null;
  onRange: (range: Range | null) => void;
  onCursor: (time: number | null) => void;
}

export function CounterChart(props: ChartProps) {
  const { counter, colour } = props;
  const { curve, unit } = counter;
  const lines = useMemo(
    (): Line[] => [
      { name: counter.title, values: curve.values, stroke: colour, isStep: curve.isStep },
    ],
    [curve, colour],
  );
  const tick = unit === "bytes" ? sizeTick : unit === "percent" ? percentTick : countTick;
  return (
    <figure class="timeline-counter" aria-label={cut(counter.title, 100)}>
      <Legend
        entries={[{ curve: { ...curve, name: counter.title }, colour }]}
        time={props.cursor}
        format={formatOf(counter)}
      />
      <Chart
        times={curve.times}
        lines={lines}
        range={props.range}
        origin={props.origin}
        height={HEIGHT}
        tick={tick}
        {...(unit === "bytes" ? { steps: SIZE_STEPS } : {})}
        least={unit === "percent" ? 10 : 1}
        rules={props.rules}
        onRange={props.onRange}
        onCursor={props.onCursor}
      />
    </figure>
  );
}

interface MenuProps {
  counters: readonly Counter[];
  chosen: readonly string[];
  onChange: (names: string[]) => void;
}

export function CounterMenu({ counters, chosen, onChange }: MenuProps) {
  if (counters.length === 0) return <p class="muted">No counters were recorded.</p>;
  const toggle = (name: string) =>
    onChange(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  return (
    <details class="timeline-menu not-printed">
      <summary>
        Choose counters ({chosen.length} of {counters.length})
      </summary>
      <div class="timeline-menu-list">
        {counters.map((counter) => (
          <label key={counter.name}>
            <input
              type="checkbox"
              checked={chosen.includes(counter.name)}
              onChange={() => toggle(counter.name)}
            />
            <bdi>{cut(counter.title, 80)}</bdi>
          </label>
        ))}
      </div>
    </details>
  );
}
