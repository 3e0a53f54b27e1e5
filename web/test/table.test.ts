/* table/: sums by row, callers and callees, filter, order, and what is saved. */
import { beforeEach, expect, it } from "vitest";

import { movedBy } from "../src/controls/virtual_grid.tsx";
import type { RawProfile, RawRows } from "../src/data/documents.ts";
import { entriesOf, sumsBy } from "../src/data/part_figures.ts";
import { decodeProfile, type Profile } from "../src/data/profile.ts";
import { decodeRows } from "../src/data/rows.ts";
import { parseFilter, type StackFilter } from "../src/data/select_filters.ts";
import { filterStacks } from "../src/data/select_stacks.ts";
import { selectionOf, type LoadedRows } from "../src/data/selection.ts";
import { toCsv } from "../src/download.ts";
import { parseAddress } from "../src/state.ts";
import { functionAddress, functionOf } from "../src/table/function_address.ts";
import { figureColumns } from "../src/table/figure_columns.ts";
import { idOfKey, keyOfId, rowName, type Kind } from "../src/table/kinds.ts";
import { largestFirst, neighboursOf, OUTERMOST, SELF, TOTAL } from "../src/table/neighbours.ts";
import { matchingKeys, nextOrder, parseOrder, searchOf, sortedKeys } from "../src/table/order.ts";
import { savedTable } from "../src/table/save.ts";
import { outermostCalls } from "../src/table/function_totals.ts";
import { sortedBy } from "../src/data/sort.ts";
import { inSteps } from "../src/table/use_columns.ts";
import { keysOf, makeSums, valuesAt } from "../src/table/sums.ts";
import { sampleProfile, sampleRows, sampleSource } from "./sample.ts";

let profile: Profile;
let loaded: LoadedRows[];

/*
 * main < load < parse < load < parse, so that functions call themselves:
 *
 *     node 2   main < load < parse                  100 (60 of thread 0, 40 of thread 1)
 *     node 1   main < load                           20
 *     node 4   main < load < parse < load < parse     7 of thread 1
 */
function recursive(): { raw: RawProfile; rows: RawRows } {
  const raw = sampleProfile();
  raw.tree = { count: 5, up: [0, 1, 1, 1, 1], frame: [0, 1, 2, 1, 2] };
  const rows = sampleRows();
  const bytes = [20, 100, 7];
  const amounts = {
    bytes,
    count: [2, 10, 1],
    exact_bytes: 0,
    exact_count: 0,
    bytes_var: [4, 16, 1],
    count_var: [1, 1, 1],
  };
  return {
    raw,
    rows: { ...rows, node: [1, 1, 2], heap: 0, headline: 0, live: amounts, alloc: amounts },
  };
}

beforeEach(() => {
  const { raw, rows } = recursive();
  profile = decodeProfile(raw, sampleSource());
  loaded = [{ index: 1, snapshot: profile.snapshots[1], rows: decodeRows(rows, profile) }];
});

const select = (fragment: string) => selectionOf(profile, parseAddress(fragment));
const filters = (...texts: string[]) => texts.map((text) => parseFilter(text) as StackFilter);
const columnOf = (key: string) => {
  const found = figureColumns(true, select("").measure).find((each) => each.key === key);
  if (!found) throw new Error(key);
  return found;
};

function valuesOf(kind: Kind, column: string, fragment = "", ...texts: string[]) {
  const sums = makeSums(profile, loaded, select(fragment), filters(...texts));
  const found = sums.column(kind, columnOf(column));
  if (!found) return null;
  const keys = keysOf([found]);
  return Object.fromEntries(
    Array.from(keys, (key) => [
      rowName(profile, kind, idOfKey(key)).text,
      valuesAt(found, Int32Array.of(key))[0],
    ]),
  );
}

it("adds up functions by themselves", () => {
  expect(valuesOf("functions", "live")).toEqual({ load: 20, parse: 107 });
  expect(valuesOf("functions", "objects")).toEqual({ load: 2, parse: 11 });
});

it("counts a stack once for a function that calls itself", () => {
  expect(valuesOf("functions", "live_total")).toEqual({ main: 127, load: 127, parse: 107 });
});

it("adds up threads, where they were recorded, and modules and heaps", () => {
  expect(valuesOf("threads", "live")).toEqual({ sample: 80, worker: 47 });
  expect(valuesOf("threads", "alloc")).toBeNull();
  expect(valuesOf("types", "live")).toBeNull();
  expect(valuesOf("functions", "peak")).toBeNull();
  expect(valuesOf("modules", "live")).toEqual({ sample: 127 });
  expect(valuesOf("heaps", "live")).toEqual({ "libc.malloc": 127 });
});

it("has what the selection and the filters of stacks leave", () => {
  expect(valuesOf("functions", "live", "#thread=1")).toEqual({ parse: 47 });
  expect(valuesOf("functions", "live", "", "hide-stack:parse")).toEqual({ load: 20 });
  expect(valuesOf("functions", "live_total", "", "from-frame:parse")).toEqual({
    load: 7,
    parse: 107,
  });
  expect(valuesOf("functions", "live", "", "hide-frame:parse")).toEqual({ load: 127 });
});

it("divides a row's variance and weight among its parts", () => {
  const selection = select("");
  const entries = entriesOf(profile, loaded, selection, filterStacks(profile, []));
  expect(entries.count).toBe(4);
  const rows = sumsBy(entries.figures, entries.count, 1, () => 0);
  expect(rows.value[0]).toBe(127);
  expect(rows.variance[0]).toBeCloseTo(21, 9);
  const worker = sumsBy(entries.figures, entries.count, 2, (i) => entries.parts.thread[i]);
  expect(worker.variance[1]).toBeCloseTo(16 * 0.4 + 1, 9);
});

it("finds callers and callees, each stack once", () => {
  const entries = entriesOf(profile, loaded, select(""), filterStacks(profile, []));
  const [main, load, parse] = [0, 1, 2];
  const found = neighboursOf(profile, entries, load);
  expect(largestFirst(found.callers)).toEqual([main, parse]);
  expect([...found.callers.value]).toEqual([127, 0, 7]);
  expect([...found.callees.value]).toEqual([0, 0, 107]);
  expect([...found.own.value]).toEqual([127, 20, 0]);
  const outermost = neighboursOf(profile, entries, main).own.value;
  expect([outermost[TOTAL], outermost[SELF], outermost[OUTERMOST]]).toEqual([127, 0, 127]);
});

it("gives a function an address that names it", () => {
  const changes = functionAddress(profile, 2);
  const address = parseAddress(
    `#${new URLSearchParams({
      "table.function": String(changes["table.function"]),
      "table.in": String(changes["table.in"]),
    })}`,
  );
  expect(functionOf(profile, address)).toBe(2);
  expect(functionOf(profile, parseAddress("#table.function=nobody"))).toBeNull();
  expect(functionOf(profile, parseAddress("#"))).toBeNull();
});

it.each<[string, string[]]>([
  ["", ["main", "load", "parse"]],
  ["^l", ["load"]],
  ["LOAD|main", ["main", "load"]],
  ["(", []],
  ["sample$", ["main", "load", "parse"]],
])("filters by %s", (text, expected) => {
  const keys = Int32Array.from([0, 1, 2], keyOfId);
  const found = matchingKeys(profile, "functions", keys, searchOf(text));
  expect(Array.from(found, (key) => rowName(profile, "functions", idOfKey(key)).text)).toEqual(
    expected,
  );
});

it("says why a pattern is no regular expression, and searches for its text", () => {
  const search = searchOf("operator(");
  expect(search?.error).toMatch(/regular expression/i);
  expect(search?.test("foo::OPERATOR()")).toBe(true);
});

it("finds stacks by any of their functions", () => {
  const keys = Int32Array.from([0, 1, 2, 3, 4], keyOfId);
  const found = matchingKeys(profile, "stacks", keys, searchOf("parse"));
  expect(Array.from(found, idOfKey)).toEqual([2, 3, 4]);
});

it("sorts by figures and names, both ways, and keeps equal rows in order", () => {
  const keys = Int32Array.from([0, 1, 2], keyOfId);
  const sums = { keys: null, values: Float64Array.of(0, 0, 5, 9, 5) };
  const sorted = (column: string, isDescending: boolean) =>
    Array.from(sortedKeys(profile, "functions", keys, { column, isDescending }, sums), idOfKey);
  expect(sorted("live", true)).toEqual([1, 0, 2]);
  expect(sorted("live", false)).toEqual([0, 2, 1]);
  expect(sorted("name", false)).toEqual([1, 0, 2]);
  expect(sorted("name", true)).toEqual([2, 0, 1]);
});

it("turns the order round at the second click", () => {
  const first = nextOrder(parseOrder("", "live"), "name");
  expect(first).toEqual({ column: "name", isDescending: false });
  expect(nextOrder(first, "name").isDescending).toBe(true);
  expect(nextOrder(first, "peak")).toEqual({ column: "peak", isDescending: true });
  expect(parseOrder("live:up", "x")).toEqual({ column: "live", isDescending: false });
});

it("saves unrounded figures with their intervals, and no formula", () => {
  const { raw, rows } = recursive();
  raw.strings = raw.strings.map((text) => (text === "parse" ? '=HYPERLINK("x")' : text));
  profile = decodeProfile(raw, sampleSource());
  loaded = [{ index: 1, snapshot: profile.snapshots[1], rows: decodeRows(rows, profile) }];
  const columns = [columnOf("live")];
  const sums = makeSums(profile, loaded, select(""), []);
  const saved = savedTable({
    profile,
    kind: "functions",
    keys: Int32Array.of(keyOfId(2)),
    columns,
    sums: columns.map((column) => sums.column("functions", column)),
    isLossy: false,
  });
  expect(saved.columns).toEqual(["name", "of", "live_bytes", "live_low", "live_high"]);
  const [name, of, value, low, high] = saved.rows[0];
  expect([name, of, value]).toEqual(['=HYPERLINK("x")', "sample", 107]);
  expect(low).toBeLessThan(107);
  expect(high).toBeGreaterThan(107);
  expect(toCsv(saved.columns, saved.rows)).toContain(`"'=HYPERLINK(""x"")",sample,107,`);
});

it.each<[string, number, number | null]>([
  ["ArrowDown", 3, 4],
  ["ArrowDown", 9, 9],
  ["ArrowUp", 0, 0],
  ["PageDown", 3, 8],
  ["PageDown", 8, 9],
  ["PageUp", 3, 0],
  ["Home", 7, 0],
  ["End", 0, 9],
  ["x", 3, null],
])("%s moves from row %i to %s", (key, from, to) => {
  expect(movedBy(key, from, 10, 5)).toBe(to);
});

it("adds up stacks, and makes the figure of one of them with its margin", () => {
  expect(valuesOf("stacks", "live")).toEqual({ load: 20, parse: 7 });
  const figureOf = (node: number, fragment = "", ...texts: string[]) => {
    const sums = makeSums(profile, loaded, select(fragment), filters(...texts));
    const found = sums.column("stacks", columnOf("live"));
    const { figures, at } = found!.figure(keyOfId(node));
    return { value: figures.value[at], variance: figures.variance[at], whole: found!.whole };
  };
  expect(figureOf(2)).toEqual({ value: 100, variance: 16, whole: 127 });
  expect(figureOf(2, "#thread=1")).toEqual({ value: 40, variance: 6.4, whole: 47 });
  /* What the hidden function holds is its caller's. */
  expect(figureOf(1, "", "hide-frame:parse")).toEqual({ value: 120, variance: 20, whole: 127 });
  expect(figureOf(2, "", "hide-frame:parse").value).toBe(0);
  expect(figureOf(4, "", "hide-stack:parse")).toEqual({ value: 0, variance: 0, whole: 20 });
});

it("sorts many values as a comparison of each two does", () => {
  const count = 30_000;
  let state = 1;
  const next = () => (state = (state * 16807) % 2147483647);
  const values = Float64Array.from({ length: count }, () => {
    const value = next() % 1000;
    return next() % 3 === 0 ? -value / 7 : next() % 2 === 0 ? value * 1e12 : value;
  });
  for (const isDescending of [false, true]) {
    const sign = isDescending ? -1 : 1;
    const expected = Array.from(values.keys()).sort(
      (a, b) => sign * (values[a] - values[b]) || a - b,
    );
    expect(Array.from(sortedBy(count, values, isDescending))).toEqual(expected);
  }
});

it("finds the outermost calls as a search of all callers does", () => {
  const { raw } = recursive();
  raw.tree = { count: 7, up: [0, 1, 2, 2, 0, 1, 3], frame: [0, 1, 0, 1, 1, 2, 2] };
  const other = decodeProfile(raw, sampleSource());
  for (const texts of [[], ["hide-frame:load"], ["from-frame:load"]]) {
    const stacks = filterStacks(other, filters(...texts));
    const { caller, functionOf, isShown } = stacks;
    const expected = Array.from(caller, (up, node) => {
      let at = up;
      while (at >= 0 && functionOf[at] !== functionOf[node]) at = caller[at];
      return isShown[node] === 1 && at < 0 ? 1 : 0;
    });
    expect(Array.from(outermostCalls(stacks, other.functions.count))).toEqual(expected);
  }
});

it("does work in steps, until it is stopped", async () => {
  const done: number[] = [];
  const steps = [0, 1, 2, 3].map((step) => () => void done.push(step));
  const seen: number[] = [];
  const note = (progress: { done: number; of: number }) => seen.push(progress.done / progress.of);
  expect(await inSteps(steps, note, () => false)).toBe(true);
  expect([done.splice(0), seen]).toEqual([
    [0, 1, 2, 3],
    [0, 0.25, 0.5, 0.75],
  ]);
  expect(await inSteps(steps, note, () => done.length === 2)).toBe(false);
  expect(done).toEqual([0, 1]);
});

it("has steps for what is not added up yet", () => {
  const sums = makeSums(profile, loaded, select(""), []);
  const columns = [columnOf("live"), columnOf("live_total")];
  for (const step of sums.steps("functions", columns)) step();
  expect(sums.steps("functions", columns)).toEqual([]);
  expect(sums.steps("stacks", columns).length).toBeGreaterThan(0);
  expect(sums.isLarge).toBe(false);
});
