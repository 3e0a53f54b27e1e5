/* Filters of stacks, the call tree made of what they leave, and figures of sums. */
import { expect, it } from "vitest";

import {
  CallTree,
  functionTotals,
  pathOf,
  TreeColumn,
  walk,
  type TreeNode,
} from "../src/data/call_tree.ts";
import {
  exactPattern,
  filtersOf,
  filterText,
  parseFilter,
  patternOf,
  withFilter,
} from "../src/data/select_filters.ts";
import { sameFunctions, sameNodes } from "../src/data/select_same.ts";
import { filterStacks } from "../src/data/select_stacks.ts";
import { parseAddress } from "../src/state.ts";
import { made, type Stacks } from "./made.ts";

const CHAIN: Stacks = [
  ["main", 1],
  ["main a", 2],
  ["main a b", 4],
  ["main a b c", 8],
];
const TWO_WAYS: Stacks = [
  ["main load parse", 60],
  ["main load", 10],
  ["main save parse", 20],
  ["worker parse", 5],
];
const RECURSIVE: Stacks = [
  ["main walk visit walk alloc", 30],
  ["main walk visit", 5],
  ["main walk walk walk", 7],
];

interface Options {
  filters?: string[];
  direction?: "down" | "up";
  isRecursionMerged?: boolean;
}

function grown(stacks: Stacks, options: Options = {}) {
  const { profile, values } = made(stacks);
  const filters = (options.filters ?? []).map((text) => parseFilter(text)!);
  const left = filterStacks(profile, filters, options.isRecursionMerged);
  const count = profile.functions.count;
  const tree = new CallTree(left, values, left.functionOf, count, options.direction);
  const name = (key: number) => profile.strings[profile.functions.name[key]];
  const pathText = (node: TreeNode) =>
    pathOf(node)
      .map((each) => name(each.key))
      .join(" ");
  return { profile, values, left, tree, name, pathText };
}

/* "depth path self total" of each node. */
function lines(stacks: Stacks, options: Options = {}): string[] {
  const { tree, pathText } = grown(stacks, options);
  const all: string[] = [];
  walk(tree, (node) => all.push(`${node.depth} ${pathText(node)} ${node.self} ${node.total}`));
  return all;
}

it("merges stacks from the outermost function", () => {
  expect(lines(TWO_WAYS)).toEqual([
    "1 main 0 90",
    "2 main load 10 70",
    "3 main load parse 60 60",
    "2 main save 0 20",
    "3 main save parse 20 20",
    "1 worker 0 5",
    "2 worker parse 5 5",
  ]);
});

it("merges stacks from the functions that hold memory", () => {
  expect(lines(TWO_WAYS, { direction: "up" })).toEqual([
    "-1 parse 85 85",
    "-2 parse load 0 60",
    "-3 parse load main 0 60",
    "-2 parse save 0 20",
    "-3 parse save main 0 20",
    "-2 parse worker 0 5",
    "-1 load 10 10",
    "-2 load main 0 10",
  ]);
});

it.each<[string, string[], string[]]>([
  ["show", ["show-stack:save"], ["main 0 20", "main save 0 20", "main save parse 20 20"]],
  [
    "two of them",
    ["show-stack:load", "show-stack:parse"],
    ["main 0 60", "main load 0 60", "main load parse 60 60"],
  ],
  ["hide", ["hide-stack:main"], ["worker 0 5", "worker parse 5 5"]],
  [
    "hide a frame",
    ["hide-frame:/^parse$/"],
    ["main 0 90", "main load 70 70", "main save 20 20", "worker 5 5"],
  ],
  [
    "from a frame",
    ["from-frame:/^(load|save)$/"],
    ["load 10 70", "load parse 60 60", "save 0 20", "save parse 20 20"],
  ],
  [
    "a hidden frame is not shown from",
    ["hide-frame:load", "from-frame:/load|parse/"],
    ["parse 85 85"],
  ],
  [
    "a later filter does not see a hidden frame",
    ["hide-frame:load", "hide-stack:load"],
    [
      "main 10 90",
      "main save 0 20",
      "main save parse 20 20",
      "main parse 60 60",
      "worker 0 5",
      "worker parse 5 5",
    ],
  ],
  [
    "an earlier one sees it",
    ["hide-stack:load", "hide-frame:load"],
    ["main 0 20", "main save 0 20", "main save parse 20 20", "worker 0 5", "worker parse 5 5"],
  ],
  ["nothing is left", ["show-stack:nobody"], []],
  ["no regular expression", ["show-stack:/(/"], []],
  ["all of a module", ["hide-stack:in:sample"], []],
])("filters: %s", (_, filters, expected) => {
  const found = lines(TWO_WAYS, { filters }).map((line) => line.replace(/^\S+ /, ""));
  expect(new Set(found)).toEqual(new Set(expected));
});

it("goes in both directions from a pivot", () => {
  expect(lines(CHAIN, { filters: ["pivot:/^b$/"] })).toEqual([
    "1 b 4 12",
    "2 b c 8 8",
    "-1 b 12 12",
    "-2 b a 0 12",
    "-3 b a main 0 12",
  ]);
});

it("begins a pivot at the outermost call of a function that calls itself", () => {
  expect(lines(RECURSIVE, { filters: ["pivot:walk"] })[0]).toBe("1 walk 0 42");
});

it("ends the callers at the first frame when it begins at one", () => {
  expect(lines(CHAIN, { filters: ["from-frame:/^b$/"], direction: "up" })).toEqual([
    "-1 c 8 8",
    "-2 c b 0 8",
    "-1 b 4 4",
  ]);
});

it("merges recursion, also through other functions", () => {
  expect(lines(RECURSIVE)).toContain("5 main walk visit walk alloc 30 30");
  expect(lines(RECURSIVE, { isRecursionMerged: true })).toEqual([
    "1 main 0 42",
    "2 main walk 7 42",
    "3 main walk alloc 30 30",
    "3 main walk visit 5 5",
  ]);
});

it("does not merge what a pivot calls into what calls the pivot", () => {
  const stacks: Stacks = [["main walk b walk", 3]];
  expect(lines(stacks, { filters: ["pivot:/^b$/"], isRecursionMerged: true })).toEqual([
    "1 b 0 3",
    "2 b walk 3 3",
    "-1 b 3 3",
    "-2 b walk 0 3",
    "-3 b walk main 0 3",
  ]);
});

it.each<[string, Options]>([
  ["down", {}],
  ["up", { direction: "up" }],
  ["pivot", { filters: ["pivot:load"] }],
  ["filtered, up", { filters: ["hide-frame:load"], direction: "up" }],
])("knows which nodes count for a box: %s", (_, options) => {
  const { tree, values } = grown(TWO_WAYS, options);
  let boxes = 0;
  walk(tree, (node) => {
    const takes = tree.covers(node);
    expect(values.reduce((sum, value, i) => sum + (takes(i) ? value : 0), 0)).toBe(node.total);
    boxes++;
  });
  expect(boxes).toBeGreaterThan(3);
});

it.each<[string, Options]>([
  ["down", {}],
  ["up", { direction: "up" }],
  ["pivot", { filters: ["pivot:/load|save/"] }],
])("adds up other columns: %s", (_, options) => {
  const { tree, left, values } = grown(TWO_WAYS, options);
  const column = new TreeColumn(
    left,
    values.map((value) => 3 * value),
  );
  walk(tree, (node) => expect(tree.totalOf(node, column)).toBe(3 * node.total));
});

it("knows the same stacks of two files", () => {
  const { profile, left } = grown([...TWO_WAYS, ["main2 load2 parse", 1]]);
  const named = (name: string) => profile.strings.indexOf(name) - 1;
  profile.functions.same[named("main2")] = profile.functions.same[named("main")];
  profile.functions.same[named("load2")] = profile.functions.same[named("load")];
  const same = sameFunctions(profile, left, []);
  expect(same.count).toBe(profile.functions.count - 2);
  const numbers = sameNodes(same, left);
  expect([...numbers]).toEqual([0, 1, 2, 3, 4, 5, 6, 0, 1, 2]);
});

it("counts a function that calls itself once", () => {
  const { left, values, profile, name } = grown(RECURSIVE);
  const { self, total } = functionTotals(left, values, profile.functions.count);
  const of = (wanted: string) => [0, 1, 2, 3].find((i) => name(i) === wanted)!;
  expect([self[of("walk")], total[of("walk")]]).toEqual([7, 42]);
  expect([self[of("main")], total[of("main")]]).toEqual([0, 42]);
});

it("reads patterns as the Perfetto UI does", () => {
  expect(patternOf("ALLOC").test("my_alloc(int)")).toBe(true);
  expect(patternOf("a.c").test("abc")).toBe(false);
  expect(patternOf("/a.c/").test("abc")).toBe(true);
  expect(patternOf("/a.c/").test("ABC")).toBe(false);
  expect(patternOf("/a.c/i").test("ABC")).toBe(true);
  expect(patternOf("/(/").error).toMatch(/./);
  expect(patternOf("operator/").test("operator/(x)")).toBe(true);
  for (const name of ["a(b)*[c]{d}|e^f$.?\\/+", "std::vector<int>::operator/"]) {
    expect(patternOf(exactPattern(name)).test(name), name).toBe(true);
    expect(patternOf(exactPattern(name)).test(`x${name}`), name).toBe(false);
  }
});

it("keeps filters in the address", () => {
  const read = (fragment: string) => filtersOf(parseAddress(fragment)).map(filterText);
  expect(read("#filter=show-stack:a::b&filter=nonsense:x&filter=pivot:")).toEqual([
    "show-stack:a::b",
  ]);
  const list = withFilter([{ kind: "pivot", pattern: "a" }], { kind: "from-frame", pattern: "b" });
  expect(list.map(filterText)).toEqual(["from-frame:b"]);
});
