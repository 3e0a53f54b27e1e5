/*
 * A change in a table: its verdict as a sign, its size as a bar that goes right (grew) or left
 * (shrank), and its interval.
 */
import type { Change } from "../data/margin.ts";
import type { Measure } from "../data/measures.ts";
import { deltaText, marginText, toneOf, VERDICT_SIGNS, VERDICT_WORDS } from "./words.ts";

interface BarProps {
  change: Change;
  /* The change that fills half of the bar. */
  largest: number;
}

function Bar({ change, largest }: BarProps) {
  const width = Math.min(50, (50 * Math.abs(change.delta)) / Math.max(largest, 1e-9));
  const side = change.delta >= 0 ? { left: "50%" } : { right: "50%" };
  return (
    <div class="diff-track" aria-hidden="true">
      <div
        class={`diff-bar diff-bar-${toneOf(change.verdict)}`}
        style={{ width: `${width}%`, ...side }}
      />
    </div>
  );
}

interface Props extends BarProps {
  measure: Measure;
  hasMargins: boolean;
}

export function ChangeCells({ change, largest, measure, hasMargins }: Props) {
  const tone = toneOf(change.verdict);
  return (
    <>
      <td class={`number diff-delta diff-text-${tone}`}>
        <span aria-hidden="true">{VERDICT_SIGNS[change.verdict]}</span> {deltaText(change, measure)}
      </td>
      <td class="number muted diff-margin">{hasMargins ? marginText(change, measure) : ""}</td>
      <td class="diff-bar-cell">
        <Bar change={change} largest={largest} />
      </td>
      <td class={`diff-verdict diff-text-${tone}`}>{VERDICT_WORDS[change.verdict]}</td>
      <td class="number diff-before">{measure.format(change.before)}</td>
      <td class="number diff-after">{measure.format(change.after)}</td>
    </>
  );
}
