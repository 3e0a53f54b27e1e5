/*
 * The differences that the page computes are those of `heapscope diff --json`: the totals, and each
 * function and stack with its interval and verdict. HEAPSCOPE_PAGE names the page, HEAPSCOPE_DIFF a
 * list of comparisons with what C says; test/e2e/test_page_diff.py makes both and runs this.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { measureOf } from "../../src/data/measures.ts";
import type { Change, Verdict } from "../../src/data/margin.ts";
import { functionName, functionOfNode } from "../../src/data/names.ts";
import { openProfile, ROOT, type Profile } from "../../src/data/profile.ts";
import { parseFilter } from "../../src/data/select_filters.ts";
import { loadSelected } from "../../src/data/selection.ts";
import { fromBase64, parseGzip } from "../../src/data/source.ts";
import {
  changeAt,
  changesOf,
  compare,
  wholeChange,
  type Comparison,
} from "../../src/diff/compare.ts";
import { GraphModel } from "../../src/graph/model.ts";

interface RawChange {
  before: number;
  after: number;
  change: number;
  low: number;
  high: number;
  verdict: Verdict;
}

interface Case {
  name: string;
  /* of each side */
  files: [number, number];
  heap: string | null;
  filters: string[];
  expected: {
    view: string;
    before: { processes: { pid: number; snapshot: number }[] };
    after: { processes: { pid: number; snapshot: number }[] };
    total: RawChange;
    functions: (RawChange & { function: string; with_callees: RawChange })[];
    stacks: (RawChange & { frames: string[] })[];
  };
}

const html = readFileSync(process.env["HEAPSCOPE_PAGE"] ?? "", "utf8");
const cases = JSON.parse(readFileSync(process.env["HEAPSCOPE_DIFF"] ?? "", "utf8")) as Case[];
const profile = await openProfile({
  isServed: false,
  load<T>(name: string): Promise<T> {
    const text = new RegExp(`id="heapscope-${name}">([^<]*)<`).exec(html)?.[1];
    if (!text) throw new Error(`no document ${name}`);
    return parseGzip<T>(fromBase64(text));
  },
});

function snapshotsOf(file: number, processes: { pid: number; snapshot: number }[]): number[] {
  return processes.map(({ pid, snapshot }) => {
    const index = profile.snapshots.findIndex((each) => {
      const process = profile.processes[each.process];
      return process.file === file && process.pid === pid && each.number === snapshot;
    });
    expect(index, `snapshot ${snapshot} of ${pid}`).toBeGreaterThanOrEqual(0);
    return index;
  });
}

interface Both {
  comparison: Comparison;
  /* The same as a flame graph. */
  model: GraphModel;
}

async function bothOf(one: Case): Promise<Both> {
  const { expected, files } = one;
  const sides = {
    before: snapshotsOf(files[0], expected.before.processes),
    after: snapshotsOf(files[1], expected.after.processes),
  };
  const heap = one.heap === null ? null : profile.heaps.findIndex((h) => h.name === one.heap);
  const selection = {
    snapshots: sides.after,
    measure: measureOf(expected.view),
    heap,
    parts: { thread: null, type: null, scope: null, age: null },
  };
  const loaded = {
    before: await loadSelected(profile, sides.before),
    after: await loadSelected(profile, sides.after),
  };
  const filters = one.filters.map((text) => parseFilter(text)!);
  expect(filters).not.toContain(null);
  const model = new GraphModel({
    profile,
    rows: loaded.after,
    selection: { ...selection, snapshots: sides.after },
    base: { rows: loaded.before, selection: { ...selection, snapshots: sides.before } },
    filters,
    direction: "down",
    isRecursionMerged: false,
  });
  return { comparison: compare(profile, sides, loaded, selection, filters), model };
}

const comparisonOf = async (one: Case) => (await bothOf(one)).comparison;

/* C has single precision for some figures. */
function isClose(own: number, other: number, scale: number): boolean {
  return Math.abs(own - other) <= 2e-3 * scale + 1e-6;
}

function differenceOf(own: Change, raw: RawChange): string {
  const scale = Math.max(Math.abs(raw.low), Math.abs(raw.high), raw.before, raw.after);
  const pairs: [string, number, number][] = [
    ["before", own.before, raw.before],
    ["after", own.after, raw.after],
    ["low", own.low, raw.low],
    ["high", own.high, raw.high],
  ];
  for (const [key, a, b] of pairs) if (!isClose(a, b, scale)) return `${key}: ${a} and ${b}`;
  return own.verdict === raw.verdict ? "" : `verdict: ${own.verdict} and ${raw.verdict}`;
}

/* Each row of C has a row of the page with the same name and figures, and no row is left over. */
function expectSame(
  rows: { name: string; change: Change }[],
  raw: (RawChange & { key: string })[],
) {
  const open = new Map<string, Change[]>();
  for (const { name, change } of rows) open.set(name, [...(open.get(name) ?? []), change]);
  const problems: string[] = [];
  for (const each of raw) {
    const list = open.get(each.key) ?? [];
    const at = list.findIndex((change) => differenceOf(change, each) === "");
    if (at >= 0) list.splice(at, 1);
    else problems.push(`${each.key}: ${list[0] ? differenceOf(list[0], each) : "missing"}`);
  }
  for (const [name, list] of open) if (list.length > 0) problems.push(`${name}: not in C`);
  expect(problems).toEqual([]);
  expect(rows.length).toBe(raw.length);
}

const nameOfKey = (comparison: Comparison, id: number) =>
  functionName(profile as Profile, comparison.same.functionOf[id]);

function stackName(comparison: Comparison, node: number): string {
  const names: string[] = [];
  for (let at = node; at !== ROOT; at = comparison.callerOf(at)) {
    names.push(functionName(profile, functionOfNode(profile, at)));
  }
  return names.join("\n");
}

describe.each(cases)("$name", (one) => {
  const { expected } = one;

  it("has the same total", async () => {
    if (one.filters.length > 0) return; // the totals of C stay those of all stacks
    const comparison = await comparisonOf(one);
    expect(differenceOf(wholeChange(comparison), expected.total)).toBe("");
  });

  it("has the same functions", async () => {
    const comparison = await comparisonOf(one);
    const rows = changesOf(comparison, comparison.self);
    expectSame(
      rows.map(({ id, change }) => ({ name: nameOfKey(comparison, id), change })),
      expected.functions
        .filter((each) => each.before > 0 || each.after > 0)
        .map((each) => ({ ...each, key: each.function })),
    );
    expectSame(
      rows.map(({ id }) => ({
        name: nameOfKey(comparison, id),
        change: changeAt(comparison, comparison.total, id),
      })),
      expected.functions.map((each) => ({ ...each.with_callees, key: each.function })),
    );
  });

  it("has the same outermost boxes in the flame graph", async () => {
    const { comparison, model } = await bothOf(one);
    let compared = 0;
    for (const root of model.tree.roots) {
      const own = model.change(root)!;
      const change = changeAt(comparison, comparison.total, root.key);
      const isOnlyOutermost =
        isClose(own.before, change.before, 1) && isClose(own.after, change.after, 1);
      if (!isOnlyOutermost) continue;
      compared++;
      const name = nameOfKey(comparison, root.key);
      expect(differenceOf(own, { ...change, change: change.delta }), name).toBe("");
    }
    expect(compared).toBeGreaterThan(0);
  });

  it("has the same stacks", async () => {
    const comparison = await comparisonOf(one);
    const rows = changesOf(comparison, comparison.stacks).map(({ id, change }) => ({
      name: stackName(comparison, id),
      change,
    }));
    /* C keeps heaps apart that are sampled differently: below an outermost frame of their name. */
    const raw = expected.stacks.map((each) => {
      const frames = each.frames.filter((frame) => !frame.startsWith("[heap "));
      return { ...each, key: frames.join("\n") };
    });
    const times = new Map<string, number>();
    for (const { key } of raw) times.set(key, (times.get(key) ?? 0) + 1);
    const isOfOneHeap = (key: string) => times.get(key) === 1;
    expectSame(
      rows.filter(({ name }) => isOfOneHeap(name)),
      raw.filter(({ key }) => isOfOneHeap(key)),
    );
    for (const { name, change } of rows.filter((row) => !isOfOneHeap(row.name))) {
      const parts = raw.filter(({ key }) => key === name);
      const delta = parts.reduce((sum, part) => sum + part.change, 0);
      expect(Math.abs(change.delta - delta), name).toBeLessThanOrEqual(1e-3 * change.after + 1);
    }
  });
});
