/* data/figures.ts: what sums of rows need for their margins, and comparisons of them. */
import { beforeEach, expect, it } from "vitest";

import {
  familiesOf,
  figureAt,
  figuresBy,
  figuresByNode,
  totalFigures,
} from "../src/data/figures.ts";
import { openProfile, type Profile } from "../src/data/profile.ts";
import { decodeRows } from "../src/data/rows.ts";
import { loadSelected, selectionOf, type LoadedRows } from "../src/data/selection.ts";
import { parseAddress } from "../src/state.ts";
import { sampleProfile, sampleRows, sampleSource } from "./sample.ts";

let profile: Profile;
let loaded: LoadedRows[];

const select = (fragment: string) => selectionOf(profile, parseAddress(fragment));

/* The sample, sampled: half of each row is exact, variances are in units of 100. */
beforeEach(async () => {
  profile = await openProfile(sampleSource());
  loaded = await loadSelected(profile, [1]);
  const raw = sampleRows();
  raw.bytes_var_unit = 100;
  raw.live = {
    ...raw.live!,
    exact_bytes: [10, 50, 25],
    exact_count: [1, 5, 2.5],
    bytes_var: [4, 16, 9],
    count_var: [1, 2, 3],
  };
  const snapshot = JSON.parse(
    JSON.stringify(sampleProfile().snapshots[1]),
  ) as (typeof loaded)[0]["snapshot"];
  snapshot.heaps.forEach((heap) => (heap.weight_bytes = 4096));
  loaded = [{ index: 1, snapshot, rows: decodeRows(raw, profile) }];
});

it("sums up values, sampled parts and variances, and takes the largest weight", () => {
  const figures = figuresByNode(profile, loaded, select(""));
  expect(figureAt(figures, 2)).toEqual({ value: 100, sampled: 50, variance: 1600, weight: 4096 });
  expect(figureAt(figures, 0)).toEqual({ value: 0, sampled: 0, variance: 0, weight: 0 });
  const total = totalFigures(profile, figures);
  expect(figureAt(total, 0)).toEqual({ value: 120, sampled: 60, variance: 2000, weight: 4096 });
  expect(figureAt(figures, 0).value).toBe(0);
});

it("counts objects with variances and weights of their own", () => {
  const figures = figuresByNode(profile, loaded, select("#measure=objects"));
  const figure = figureAt(figures, 2);
  expect(figure).toMatchObject({ value: 10, sampled: 5, variance: 2 });
  expect(figure.weight).toBeCloseTo(4096.5, 3);
});

it("takes numbers of samples for what they are", () => {
  loaded[0].snapshot.heaps[0].has_sample_counts = true;
  const figures = figuresByNode(profile, loaded, select("#measure=objects"));
  expect(figureAt(figures, 2)).toEqual({ value: 10, sampled: 10, variance: 10, weight: 1 });
});

it("gives a part the exact part and the variance of its row in proportion", () => {
  const figures = figuresByNode(profile, loaded, select("#thread=0"));
  expect(figureAt(figures, 2)).toEqual({ value: 60, sampled: 30, variance: 960, weight: 4096 });
});

it("takes any key, and leaves out rows without one", () => {
  const keys = Int32Array.of(0, -1, 0);
  const figures = figuresBy(profile, loaded, select(""), 1, () => keys);
  expect(figureAt(figures, 0).value).toBe(20);
});

it("adds what processes of a family share to the variance, for each but the first", () => {
  const { rows } = loaded[0];
  const inherited = { ...rows, inheritedBytesVar: rows.live!.bytes };
  const child = { ...loaded[0], index: 2, rows: inherited };
  const both = [loaded[0], child];
  expect(familiesOf(profile, both)).toEqual([
    { before: 0, descent: 2 },
    { before: 1, descent: 2 },
  ]);
  const figures = figuresByNode(profile, both, select(""));
  expect(figureAt(figures, 2)).toMatchObject({ variance: 1600 + 1600 + 2 * 100, weight: 8192 });
});
