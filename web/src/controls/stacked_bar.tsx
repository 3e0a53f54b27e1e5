/*
 * One bar that is divided into the parts of a whole, with a legend that names each part, its value
 * and its share. A part that is too small to be seen is in the legend all the same.
 */
import { cut, share } from "../format.ts";
import "./controls.css";

export interface Slice {
  key: string;
  name: string;
  value: number;
  /* A variable of style/theme.css. */
  colour: string;
}

interface Props {
  slices: readonly Slice[];
  whole: number;
  format: (value: number) => string;
  onChoose?: (key: string) => void;
}

function LegendName({ slice, onChoose }: { slice: Slice; onChoose: Props["onChoose"] }) {
  const name = <bdi>{cut(slice.name, 120)}</bdi>;
  if (!onChoose) return name;
  return (
    <button type="button" class="controls-plain" onClick={() => onChoose(slice.key)}>
      {name}
    </button>
  );
}

export function StackedBar({ slices, whole, format, onChoose }: Props) {
  return (
    <div>
      <div class="controls-stack" aria-hidden="true">
        {slices.map((slice) => (
          <div
            key={slice.key}
            title={`${cut(slice.name, 200)}: ${format(slice.value)}, ${share(slice.value, whole)}`}
            style={{ flexGrow: slice.value, background: `var(${slice.colour})` }}
            onClick={onChoose && (() => onChoose(slice.key))}
          />
        ))}
      </div>
      <ul class="controls-legend">
        {slices.map((slice) => (
          <li key={slice.key}>
            <span class="controls-square" style={{ background: `var(${slice.colour})` }} />
            <span class="controls-legend-name">
              <LegendName slice={slice} onChoose={onChoose} />
            </span>
            <span class="number">
              {format(slice.value)} <span class="muted">{share(slice.value, whole)}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
