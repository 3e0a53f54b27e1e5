/*
 * The functions of the table of a real profile are those of the report in the same page: what each
 * holds by itself and with what it calls, with margins. HEAPSCOPE_PAGE names the page.
 */
import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";

import type { Amount, Report, ReportFunction } from "../../src/data/documents.ts";
import { marginAt } from "../../src/data/figures.ts";
import { functionName } from "../../src/data/names.ts";
import { openProfile, type Profile } from "../../src/data/profile.ts";
import { loadSelected, selectionOf } from "../../src/data/selection.ts";
import { parseAddress } from "../../src/state.ts";
import { figureColumns } from "../../src/table/figure_columns.ts";
import { keyOfId } from "../../src/table/kinds.ts";
import { makeSums, type Sums } from "../../src/table/sums.ts";
import { sourceOf } from "./page_file.ts";

let profile: Profile;
let report: Report;
let sums: Sums;

beforeAll(async () => {
  profile = await openProfile(sourceOf(readFileSync(process.env["HEAPSCOPE_PAGE"]!, "utf8")));
  report = await profile.report(0);
  const selection = selectionOf(profile, parseAddress(""));
  sums = makeSums(profile, await loadSelected(profile, selection.snapshots), selection, []);
});

/* The figures of the report are those of its view, in bytes and in counts. */
function columnsOfView(isTotal: boolean) {
  const { measure } = selectionOf(profile, parseAddress(""));
  return figureColumns(true, measure).filter(
    (column) => column.measure.quantity === measure.quantity && column.isTotal === isTotal,
  );
}

const near = (own: number, other: number) => Math.abs(own - other) <= 1e-3 * Math.abs(other) + 1;

/* Several functions may have one name: one of them has the figures. */
function expectOneOf(list: readonly ReportFunction[], isTotal: boolean) {
  expect(list.length).toBeGreaterThan(0);
  for (const column of columnsOfView(isTotal)) {
    const figures = sums.column("functions", column)?.figure(0).figures;
    expect(figures, column.key).toBeTruthy();
    if (!figures) continue;
    for (const expected of list) {
      const amount: Amount = isTotal ? expected.total : expected.self;
      const { isCount } = column.measure;
      const value = isCount ? amount.count : amount.bytes;
      /* The roots of heaps are no functions: each heap has its own table in the page. */
      if (value === 0 || expected.function.startsWith("[heap ")) continue;
      const same = Array.from({ length: profile.functions.count }, (_, i) => i)
        .filter((i) => functionName(profile, i) === expected.function)
        .map(keyOfId);
      const found = same.find((key) => near(figures.value[key], value));
      const seen = same.map((key) => figures.value[key]).join(", ");
      expect(found, `${column.key} of ${expected.function}: ${value}, not ${seen}`).toBeDefined();
      const margin = marginAt(figures, found as number, false);
      const high = isCount ? amount.count_high : amount.bytes_high;
      if (margin && high !== undefined) {
        const own = figures.value[found as number] + margin.above;
        expect(near(own, high), `${expected.function}: ${own} and ${high}`).toBe(true);
      }
    }
  }
}

it("has what functions hold by themselves", () => {
  expectOneOf(report.functions_by_self, false);
});

it("has what functions hold with what they call", () => {
  expectOneOf(report.functions_by_total, true);
});
