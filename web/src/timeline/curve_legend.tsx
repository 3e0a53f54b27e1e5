/*
 * The curves of a chart: colour, name, and value at the time that is pointed at.
 */
import { cut, NOT_RECORDED } from "../format.ts";
import { valueAt, type Curve } from "./curves.ts";

export interface Entry {
  curve: Curve;
  colour: string;
  isDashed?: boolean;
}

interface Props {
  entries: readonly Entry[];
  /* When; null: at the end of each curve. */
  time: number | null;
  format: (value: number) => string;
  /* The time in words: "at the end". */
  when?: string;
}

function textAt({ curve }: Entry, time: number | null, format: Props["format"]): string {
  const last = curve.values[curve.values.length - 1];
  const value = time === null ? (last ?? null) : valueAt(curve, time);
  return value === null ? NOT_RECORDED : format(value);
}

export function Legend({ entries, time, format, when }: Props) {
  return (
    <ul class="timeline-legend">
      {when && <li class="muted timeline-when">{when}</li>}
      {entries.map((entry) => (
        <li key={entry.curve.key}>
          <span
            class={entry.isDashed ? "timeline-dash" : "controls-square"}
            style={
              entry.isDashed
                ? { borderColor: `var(${entry.colour})` }
                : { background: `var(${entry.colour})` }
            }
          />
          <bdi class="name">{cut(entry.curve.name, 60)}</bdi>
          <span class="number">{textAt(entry, time, format)}</span>
        </li>
      ))}
    </ul>
  );
}
