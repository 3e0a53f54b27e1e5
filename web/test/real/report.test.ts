/*
 * The page's own sums and margins of a real profile are those that C computed: the totals and the
 * functions of the report in the same page. HEAPSCOPE_PAGE names the page; test/e2e/test_page.py
 * writes it and runs this.
 */
import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";

import { headlineFunction } from "../../src/data/breakdown.ts";
import type { Amount, Report } from "../../src/data/documents.ts";
import { figuresBy, figuresByNode, marginAt, type Figures } from "../../src/data/figures.ts";
import { MEASURES, type Measure } from "../../src/data/measures.ts";
import { functionName } from "../../src/data/names.ts";
import { openProfile, type Profile } from "../../src/data/profile.ts";
import { loadSelected, type LoadedRows, type Selection } from "../../src/data/selection.ts";
import { sourceOf } from "./page_file.ts";

let profile: Profile;
let report: Report;
let loaded: LoadedRows[];

beforeAll(async () => {
  profile = await openProfile(sourceOf(readFileSync(process.env["HEAPSCOPE_PAGE"]!, "utf8")));
  report = await profile.report(0);
  loaded = await loadSelected(profile, profile.files[0].selected);
});

const isPeakThere = () => profile.files[0].selected.every((i) => profile.snapshots[i].has_peak);

function selectionFor(measure: Measure): Selection {
  return {
    snapshots: profile.files[0].selected,
    measure,
    heap: null,
    parts: { thread: null, type: null, scope: null, age: null },
  };
}

function expectAmount(figures: Figures, i: number, amount: Amount, measure: Measure, what: string) {
  const [value, low, high] = measure.isCount
    ? [amount.count, amount.count_low, amount.count_high]
    : [amount.bytes, amount.bytes_low, amount.bytes_high];
  const close = (own: number, other: number, name: string) =>
    expect(Math.abs(own - other), `${what}, ${name}: ${own} and ${other}`).toBeLessThanOrEqual(
      1e-3 * Math.abs(other) + 1,
    );
  close(figures.value[i], value, "value");
  const margin = marginAt(figures, i, false);
  if (low !== undefined && margin) close(value - margin.below, low, "low");
  if (high !== undefined && margin) close(value + margin.above, high, "high");
}

it.each(MEASURES)("$name: rows add up to the totals of the report", (measure) => {
  if (measure.quantity === "peak" && !isPeakThere()) return;
  const figures = figuresByNode(profile, loaded, selectionFor(measure));
  const sum = figures.value.reduce((all, value) => all + value, 0);
  const total = report.totals[measure.quantity];
  const expected = (measure.isCount ? total?.count : total?.bytes) ?? NaN;
  /* The peak of the totals is a little more than what its stacks held. */
  const share = measure.quantity === "peak" ? 0.02 : 1e-6;
  expect(Math.abs(sum - expected)).toBeLessThanOrEqual(share * expected + 1);
});

it("has the functions of the report, with their margins", () => {
  const measure = MEASURES.find(({ name }) => name === report.view) as Measure;
  const figures = figuresBy(
    profile,
    loaded,
    selectionFor(measure),
    profile.functions.count,
    ({ rows }) =>
      Int32Array.from({ length: rows.count }, (_, i) => headlineFunction(profile, rows, i)),
  );
  expect(report.functions_by_self.length).toBeGreaterThan(0);
  for (const expected of report.functions_by_self) {
    if ((measure.isCount ? expected.self.count : expected.self.bytes) === 0) continue;
    const own = Array.from({ length: profile.functions.count }, (_, i) => i).filter(
      (i) => functionName(profile, i) === expected.function && figures.value[i] > 0,
    );
    if (own.length === 1) {
      expectAmount(figures, own[0], expected.self, measure, expected.function);
    } else {
      expect(own.length, expected.function).toBeGreaterThan(0);
    }
  }
});
