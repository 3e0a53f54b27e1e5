/*
 * What the colours of the boxes mean.
 */
import { cut } from "../format.ts";
import { COLOUR_TITLES, type Colouring, type ColourMode } from "./colours.ts";

interface Props {
  colouring: Colouring | null;
  mode: ColourMode;
}

const UNKNOWN: Partial<Record<ColourMode, string>> = {
  type: "Types of blocks were not recorded.",
  change: "Choose a snapshot to compare with.",
};

export function Legend({ colouring, mode }: Props) {
  if (!colouring) return <p class="graph-legend muted">{UNKNOWN[mode]}</p>;
  return (
    <ul class="graph-legend" aria-label={`Colours: ${COLOUR_TITLES[mode]}`}>
      {colouring.legend.map(({ name, colour }) => (
        <li key={name}>
          <span
            class="controls-square"
            style={{ background: `var(${colour})` }}
            aria-hidden="true"
          />
          <bdi title={cut(name, 2000)}>{cut(name, 60)}</bdi>
        </li>
      ))}
    </ul>
  );
}
