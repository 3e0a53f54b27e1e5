/*
 * What changed: a paragraph, and the totals of both sides.
 */
import type { Change } from "../data/margin.ts";
import type { Measure } from "../data/measures.ts";
import { share } from "../format.ts";
import {
  deltaText,
  marginText,
  toneOf,
  VERDICT_SIGNS,
  VERDICT_WORDS,
  whatChanged,
  type Named,
} from "./words.ts";

interface Props {
  whole: Change;
  functions: readonly Named[];
  measure: Measure;
  hasMargins: boolean;
  titles: readonly [string, string];
}

/* How much of the changes of functions grew, shrank, and may be chance. */
function sumsOf(functions: readonly Named[]): Record<"grew" | "shrank" | "noise", number> {
  const sums = { grew: 0, shrank: 0, noise: 0 };
  for (const { change } of functions) sums[toneOf(change.verdict)] += Math.abs(change.delta);
  return sums;
}

function SumsBar({ functions, measure }: Pick<Props, "functions" | "measure">) {
  const sums = sumsOf(functions);
  const whole = sums.grew + sums.shrank + sums.noise;
  if (!(whole > 0)) return null;
  const parts = [
    { tone: "grew", text: "grew" },
    { tone: "shrank", text: "shrank" },
    { tone: "noise", text: "within noise" },
  ] as const;
  return (
    <>
      <div class="diff-stack" aria-hidden="true">
        {parts.map(({ tone }) => (
          <div key={tone} class={`change-bar-${tone}`} style={{ flexGrow: sums[tone] }} />
        ))}
      </div>
      <ul class="diff-legend">
        {parts.map(({ tone, text }) => (
          <li key={tone}>
            <span class={`change-square change-bar-${tone}`} /> functions {text}{" "}
            <b class="number">{measure.format(sums[tone])}</b>{" "}
            <span class="muted">{share(sums[tone], whole)} of all changes</span>
          </li>
        ))}
      </ul>
    </>
  );
}

export function SummaryCard({ whole, functions, measure, hasMargins, titles }: Props) {
  const tone = toneOf(whole.verdict);
  const sides = [whole.before, whole.after];
  return (
    <section class="change-card change-summary">
      <h2>What changed</h2>
      <p class="change-words">
        <bdi>{whatChanged(whole, functions, measure, hasMargins)}</bdi>
      </p>
      <dl class="change-figures diff-figures">
        {sides.map((value, i) => (
          <div key={i}>
            <dt>
              {i === 0 ? "Before" : "After"}: <bdi>{titles[i]}</bdi>
            </dt>
            <dd>{measure.format(value)}</dd>
          </div>
        ))}
        <div class={`diff-whole diff-whole-${tone}`}>
          <dt>
            Change: <span>{VERDICT_WORDS[whole.verdict]}</span>
          </dt>
          <dd class={`change-${tone}`}>
            <span aria-hidden="true">{VERDICT_SIGNS[whole.verdict]}</span>{" "}
            {deltaText(whole, measure)}{" "}
            <small class="muted">
              {hasMargins ? marginText(whole, measure) : "no margin holds: data were lost"}
            </small>
          </dd>
        </div>
      </dl>
      <SumsBar functions={functions} measure={measure} />
    </section>
  );
}
