/* data/margin.ts: the cases of test/unit/test_margin.c, and each verdict once. */
import { expect, it } from "vitest";

import { changeOf, countWeight, marginOf, type Figure } from "../src/data/margin.ts";

const INTERVAL = 4096;

/* An amount of bytes with `samples` samples, each of which stands for an interval. */
function ofSamples(samples: number, exact = 0): Figure {
  const sampled = samples * INTERVAL;
  return { value: exact + sampled, sampled, variance: samples * INTERVAL ** 2, weight: INTERVAL };
}

/* The exact 95 % interval of a Poisson count (Garwood). */
it.each([
  [0, 0, 3.6889],
  [1, 0.025318, 5.5716],
  [2, 0.242209, 7.2247],
  [5, 1.6235, 11.668],
  [10, 4.7954, 18.39],
  [20, 12.217, 30.888],
  [50, 37.112, 65.919],
  [100, 81.364, 121.627],
])("%s samples lie between %s and %s", (samples, low, high) => {
  const figure = ofSamples(samples);
  const margin = marginOf(figure);
  const below = (figure.value - margin.below) / INTERVAL;
  const above = (figure.value + margin.above) / INTERVAL;
  expect(below).toBeLessThanOrEqual(low + 1e-9);
  expect(below).toBeGreaterThanOrEqual(low - 0.04);
  expect(above).toBeGreaterThanOrEqual(high - 0.02);
  expect(above).toBeLessThanOrEqual(high + 0.3);
});

it("has no margin where all was recorded", () => {
  expect(marginOf({ value: 500, sampled: 0, variance: 0, weight: 0 })).toEqual({
    below: 0,
    above: 0,
  });
});

it("is wider below for a peak, and never more than its samples", () => {
  const plain = marginOf(ofSamples(50));
  const peak = marginOf({ ...ofSamples(50), peakExcess: 10 * INTERVAL, peakLean: 2 * INTERVAL });
  expect(peak.above).toBe(plain.above);
  expect(peak.below).toBeGreaterThan(plain.below);
  const huge = marginOf({ ...ofSamples(50), peakExcess: 1e9 });
  expect(huge.below).toBe(50 * INTERVAL);
});

it("turns round for a negative figure", () => {
  const up = marginOf(ofSamples(9));
  const down = marginOf({ ...ofSamples(9), value: -9 * INTERVAL, sampled: -9 * INTERVAL });
  expect(down).toEqual({ below: up.above, above: up.below });
});

it("knows what a sample stands for in objects", () => {
  expect(countWeight(1)).toBe(0);
  /* 1 / (1 - e^(-1 / interval)) */
  expect(countWeight(4096)).toBeCloseTo(1 / (1 - Math.exp(-1 / 4096)), 6);
});

it.each([
  [ofSamples(100), ofSamples(100), "same"],
  [ofSamples(100), ofSamples(105), "noise"],
  [ofSamples(100), ofSamples(200), "grew"],
  [ofSamples(200), ofSamples(100), "shrank"],
  [ofSamples(0), ofSamples(50), "new"],
  [ofSamples(50), ofSamples(0), "gone"],
  [ofSamples(0), ofSamples(1), "noise"],
])("case %#", (before, after, verdict) => {
  const change = changeOf(before, after);
  expect(change.verdict).toBe(verdict);
  expect(change.low).toBeLessThanOrEqual(change.delta);
  expect(change.high).toBeGreaterThanOrEqual(change.delta);
});

it("compares what was allocated until two moments by the samples in between", () => {
  const before = ofSamples(10000);
  const after = ofSamples(10030);
  expect(changeOf(before, after).verdict).toBe("noise");
  expect(changeOf(before, after, true).verdict).toBe("grew");
});

it("what may have been live at another time than the peak counts above it", () => {
  const exact = { value: 1000, sampled: 0, variance: 0, weight: 0 };
  expect(marginOf({ ...exact, peakShort: 50 })).toEqual({ below: 0, above: 50 });
  const change = changeOf({ ...exact, peakShort: 50 }, { ...exact, value: 1500 });
  expect([change.low, change.high]).toEqual([450, 500]);
});
