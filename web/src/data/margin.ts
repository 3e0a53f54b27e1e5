/*
 * The 95 % interval of a sum of rows, and the verdict on a difference of two sums: the formulas of
 * src/profile/model/margin.h and src/profile/analyse/diff.h, for sums that only the page makes.
 * docs/PAGE.md ("Margins and verdicts") lists them, docs/SAMPLING.md derives them.
 */
const Z = 1.96;
const UNSEEN = 3.8416; /* Z squared */

export interface Figure {
  value: number;
  /* The part that rests on samples. */
  sampled: number;
  variance: number;
  /* The most that one sample stands for; 0: nothing was sampled. */
  weight: number;
  /* Of a peak: errors of the moment, in the figure's unit. */
  peakExcess?: number;
  peakLean?: number;
  peakCommon?: number;
  /* So much more may have been live at another time. */
  peakShort?: number;
}

/* The truth lies between value - below and value + above. */
export interface Margin {
  below: number;
  above: number;
}

function lowerShare(k: number): number {
  const root = 1 - 1 / (9 * k) - Z / (3 * Math.sqrt(k));
  return root > 0 ? root ** 3 : 0;
}

function aboveOf(variance: number, weight: number): number {
  const shift = (UNSEEN / 2) * weight;
  return shift + Math.hypot(Z * Math.sqrt(variance), shift);
}

function belowOf(sampled: number, variance: number): number {
  const k = (sampled * sampled) / variance;
  return k > 0 ? sampled * (1 - lowerShare(k)) : sampled;
}

function widenOfPeak(figure: Figure, own: Margin): Margin {
  const margin = { below: own.below, above: own.above + (figure.peakShort ?? 0) };
  const { peakExcess: excess = 0, peakLean: lean = 0, peakCommon: common = 0, sampled } = figure;
  if (!(excess > 0)) return margin;
  const square = Math.max(margin.below ** 2 - (Z * common) ** 2, 0);
  const below = lean + Math.sqrt(square + (excess - lean) ** 2);
  if (!Number.isFinite(below) || below <= margin.below) return margin;
  return { ...margin, below: Math.min(below, Math.max(sampled, margin.below)) };
}

export function marginOf(figure: Figure): Margin {
  const hasVariance = figure.variance > 0;
  const sampled = Math.abs(figure.sampled !== 0 ? figure.sampled : figure.value);
  const weight = figure.weight > 0 ? figure.weight : hasVariance ? figure.variance / sampled : 0;
  let margin = { below: 0, above: 0 };
  if (hasVariance || weight > 0) {
    margin.above = aboveOf(hasVariance ? figure.variance : 0, weight);
    margin.below = hasVariance ? belowOf(sampled, figure.variance) : 0;
  }
  if (figure.value < 0) margin = { below: margin.above, above: margin.below };
  return widenOfPeak(figure, margin);
}

/* What one sample stands for in objects, where it stands for `weight` bytes. */
export function countWeight(weightBytes: number): number {
  return weightBytes > 1 ? weightBytes + 0.5 + 1 / (12 * weightBytes) : 0;
}

export type Verdict = "same" | "noise" | "grew" | "new" | "shrank" | "gone";

export interface Change {
  before: number;
  after: number;
  delta: number;
  low: number;
  high: number;
  verdict: Verdict;
}

function verdictOf(before: number, after: number, low: number, high: number): Verdict {
  const delta = after - before;
  /* Sums of the same numbers in another order may differ by this much. */
  const rounding = 1e-9 * (before + after);
  if (Math.abs(delta) <= rounding) return "same";
  if (low <= rounding && high >= -rounding) return "noise";
  if (delta > 0) return before > 0 ? "grew" : "new";
  return after > 0 ? "shrank" : "gone";
}

/*
 * The difference of two figures. isCumulative: both are snapshots of one process and count what was
 * allocated, so that `after` contains all of `before`.
 */
export function changeOf(before: Figure, after: Figure, isCumulative = false): Change {
  const delta = after.value - before.value;
  let low: number;
  let high: number;
  if (isCumulative) {
    const variance = Math.max(after.variance - before.variance, 0);
    const margin = marginOf({ value: delta, sampled: delta, variance, weight: after.weight });
    [low, high] = [delta - margin.below, delta + margin.above];
  } else {
    const a = marginOf(after);
    const b = marginOf(before);
    low = delta - Math.hypot(a.below, b.above);
    high = delta + Math.hypot(a.above, b.below);
  }
  const verdict = verdictOf(before.value, after.value, low, high);
  return { before: before.value, after: after.value, delta, low, high, verdict };
}
