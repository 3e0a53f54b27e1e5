/*
 * A change as a bar that goes right (it grew) or left (it shrank) from the middle.
 */
import "./change.css";

/* The colour of a verdict; what did not change has that of noise. */
export type Tone = "grew" | "shrank" | "noise";

interface Props {
  tone: Tone;
  change: number;
  /* The change that fills half of the width. */
  largest: number;
}

export function ChangeBar({ tone, change, largest }: Props) {
  const width = Math.min(50, (50 * Math.abs(change)) / Math.max(largest, 1e-9));
  const side = change >= 0 ? { left: "50%" } : { right: "50%" };
  return (
    <div class="change-track" aria-hidden="true">
      <div class={`change-bar change-bar-${tone}`} style={{ width: `${width}%`, ...side }} />
    </div>
  );
}
