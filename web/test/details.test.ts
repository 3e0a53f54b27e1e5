/* details/: memory by backtrace and type in any order. */
import { beforeEach, expect, it } from "vitest";

import { entriesOf, type Entries } from "../src/data/part_figures.ts";
import { decodeProfile, type Profile } from "../src/data/profile.ts";
import { decodeRows } from "../src/data/rows.ts";
import { filterStacks } from "../src/data/select_stacks.ts";
import { selectionOf } from "../src/data/selection.ts";
import { parseAddress } from "../src/state.ts";
import {
  allBelow,
  everything,
  figuresOf,
  shownOf,
  type Dimension,
  type Group,
  type Mode,
} from "../src/details/divide.ts";
import {
  openTexts,
  parentPath,
  parseOpen,
  stepOf,
  Tree,
  withOpen,
  type Open,
} from "../src/details/tree_rows.ts";
import { sampleProfile, sampleRows, sampleSource } from "./sample.ts";

let profile: Profile;
let entries: Entries;

/* main < load: 20 of type A. main < load < parse: 100, 60 of type A and 40 of type B. */
beforeEach(() => {
  const raw = sampleProfile();
  raw.strings = [...raw.strings, "A", "B"];
  raw.types = { count: 3, name: [0, 7, 8], is_given: 0 };
  profile = decodeProfile(raw, sampleSource());
  const rows = sampleRows();
  rows.parts.live = { ...rows.parts.live!, thread: null, type: [1, 1, 2, 2] };
  const loaded = [{ index: 1, snapshot: profile.snapshots[1], rows: decodeRows(rows, profile) }];
  const selection = selectionOf(profile, parseAddress("#heap=0"));
  entries = entriesOf(profile, loaded, selection, filterStacks(profile, []));
});

const below = (group: Group, dimension: Dimension, mode: Mode = "tree") =>
  allBelow(entries, group, dimension, mode);
const named = (groups: readonly Group[]) =>
  groups.map((group): [string, number] => [stepOf(group.key), group.value]);

it("goes from the outermost function inwards, with what the stack itself holds", () => {
  const all = everything(entries);
  expect(all.value).toBe(120);
  const [main] = below(all, "f");
  expect(named([main])).toEqual([["f0", 120]]);
  const [load] = below(main, "f");
  expect(named(below(load, "f"))).toEqual([
    ["f2", 100],
    ["s", 20],
  ]);
});

it("divides by type, and a type by backtrace", () => {
  const types = below(everything(entries), "t");
  expect(named(types)).toEqual([
    ["t1", 80],
    ["t2", 40],
  ]);
  const [load] = below(below(types[0], "f")[0], "f");
  expect(named(below(load, "f"))).toEqual([
    ["f2", 60],
    ["s", 20],
  ]);
});

it("divides a backtrace by type, and goes on by backtrace", () => {
  const [load] = below(below(everything(entries), "f")[0], "f");
  const types = below(load, "t");
  expect(named(types)).toEqual([
    ["t1", 80],
    ["t2", 40],
  ]);
  expect(named(below(types[1], "f"))).toEqual([["f2", 40]]);
});

it("goes from the function that allocated to its callers", () => {
  const functions = below(everything(entries), "f", "bottom-up");
  /* The second row counts for load, as the report does: its headline is one frame above. */
  expect(named(functions)).toEqual([["f1", 120]]);
  expect(named(below(functions[0], "f", "bottom-up"))).toEqual([["f0", 120]]);
});

it("lists every function with all that it calls", () => {
  const functions = below(everything(entries), "f", "heavy");
  expect(named(functions)).toEqual([
    ["f0", 120],
    ["f1", 120],
    ["f2", 100],
  ]);
  expect(named(below(functions[1], "f", "heavy"))).toEqual([
    ["f2", 100],
    ["s", 20],
  ]);
});

it("shows the small rows as one, with what they hold together", () => {
  const groups = [5, 4, 3, 2, 1].map((value, index) => ({
    ...everything(entries),
    key: { dimension: "f" as const, index },
    value,
  }));
  const shown = shownOf(groups, 2);
  expect(named(shown)).toEqual([
    ["f0", 5],
    ["f1", 4],
    ["r2", 6],
  ]);
  expect(shown[2].smallCount).toBe(3);
  expect(shownOf(groups, 4)).toHaveLength(5);
});

it.each<Mode>(["tree", "bottom-up"])("%s: the rows below a row add up to it", (mode) => {
  const tree = new Tree(entries, mode);
  const open = new Map<string, Open>();
  for (let depth = 0; depth < 8; depth++) {
    for (const row of tree.rows(open)) {
      const dimension = row.canOpenBy[depth % row.canOpenBy.length];
      if (!open.has(row.path) && dimension) open.set(row.path, { dimension, times: 1 });
    }
  }
  const rows = tree.rows(open);
  expect(rows.length).toBeGreaterThan(4);
  rows.forEach((row, at) => {
    if (row.openBy === null) return;
    let sum = 0;
    for (let i = at + 1; i < rows.length && rows[i].level > row.level; i++) {
      if (rows[i].level === row.level + 1) sum += rows[i].group.value;
    }
    expect(sum).toBeCloseTo(row.group.value, 9);
  });
});

it("sums the figures of a row with what its margin needs", () => {
  expect(figuresOf(entries, everything(entries)).value[0]).toBe(120);
});

it("keeps what is open in the address", () => {
  const open = parseOpen([":f", "f0:t", "f0.t-1:f+3", "nonsense", "f1:x", "<b>:f"]);
  expect(openTexts(open)).toEqual([":f", "f0:t", "f0.t-1:f+3"]);
  expect(parseOpen(["none"]).size).toBe(0);
  expect(parentPath("f0.t1.s")).toBe("f0.t1");
  expect(parentPath("f0")).toBe("");
});

it("forgets what was open below a row that is closed or broken down otherwise", () => {
  const open = parseOpen([":f", "f0:f", "f0.f1:t", "f01:f"]);
  expect(openTexts(withOpen(open, "f0", null))).toEqual([":f", "f01:f"]);
  expect(openTexts(withOpen(open, "f0", { dimension: "t", times: 1 }))).toEqual([
    ":f",
    "f01:f",
    "f0:t",
  ]);
  expect(openTexts(withOpen(open, "f0", { dimension: "f", times: 2 }))).toEqual([
    ":f",
    "f0.f1:t",
    "f01:f",
    "f0:f+2",
  ]);
});

it("opens the way along the largest rows at first", () => {
  expect(openTexts(new Tree(entries, "tree").firstOpen())).toEqual([
    ":f",
    "f0:f",
    "f0.f1:f",
    "f0.f1.f2:f",
  ]);
  expect(openTexts(new Tree(entries, "bottom-up").firstOpen())).toEqual([":f"]);
});
