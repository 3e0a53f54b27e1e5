/* graph/: where boxes are, where keys lead, what a search finds, texts, comparisons, stacks. */
import { expect, it } from "vitest";

import { CallTree, type TreeNode } from "../src/data/call_tree.ts";
import { functionName } from "../src/data/names.ts";
import type { Profile } from "../src/data/profile.ts";
import { parseFilter } from "../src/data/select_filters.ts";
import { filterStacks } from "../src/data/select_stacks.ts";
import { loadSelected, selectionOf } from "../src/data/selection.ts";
import { colouringOf } from "../src/graph/colours.ts";
import { foldedOf } from "../src/graph/export.ts";
import { dividedAt } from "../src/graph/flame_graph.tsx";
import { hintOf, infoOf, stackText } from "../src/graph/info.ts";
import { cutToFit, fitting, formsOf } from "../src/graph/labels.ts";
import { boxAt, boxOfNode, layOut, type Box, type Layout } from "../src/graph/layout.ts";
import { addressOf, GraphModel } from "../src/graph/model.ts";
import { ROW_PX } from "../src/graph/paint.ts";
import { search } from "../src/graph/search.ts";
import { moved, nearest } from "../src/graph/walk_keys.ts";
import { parseAddress } from "../src/state.ts";
import { made, madeTwice, type Stacks } from "./made.ts";

const STACKS: Stacks = [
  ["main load parse", 600],
  ["main load", 100],
  ["main save", 200],
  ["worker a", 60],
  ["worker b", 38],
  ["worker c", 1],
  ["worker d", 1],
];

function grown(stacks: Stacks, filters: string[] = []) {
  const { profile, values } = made(stacks);
  const left = filterStacks(
    profile,
    filters.map((text) => parseFilter(text)!),
  );
  const tree = new CallTree(left, values, left.functionOf, profile.functions.count);
  return { profile, values, left, tree };
}

/* "row x width name" of each box, row by row. */
function lines(profile: Profile, layout: Layout): string[] {
  const name = ({ node, mergedCount }: Box) =>
    node ? functionName(profile, node.key) : mergedCount > 0 ? `${mergedCount} merged` : "all";
  return [...layout.rows]
    .sort(([a], [b]) => a - b)
    .flatMap(([row, boxes]) =>
      boxes.map((box) => `${row} ${box.x} ${box.width} ${name(box)}${box.isOuter ? " outer" : ""}`),
    );
}

async function modelOf(profile: Profile, fragment = "", base: number | null = null) {
  const selection = selectionOf(profile, parseAddress(fragment));
  const rows = await loadSelected(profile, selection.snapshots);
  return new GraphModel({
    profile,
    rows,
    selection,
    base:
      base === null
        ? null
        : {
            rows: await loadSelected(profile, [base]),
            selection: { ...selection, snapshots: [base] },
          },
    filters: [],
    direction: "down",
    isRecursionMerged: false,
  });
}

it("places boxes by value, and counts what is too narrow", () => {
  const { profile, tree } = grown(STACKS);
  expect(lines(profile, layOut(tree, null, 500))).toEqual([
    "0 0 500 all",
    "1 0 450 main",
    "1 450 50 worker",
    "2 0 350 load",
    "2 350 100 save",
    "2 450 30 a",
    "2 480 19 b",
    "2 499 1 2 merged",
    "3 0 300 parse",
  ]);
});

it("leaves out merged boxes that nobody could see", () => {
  const { profile, tree } = grown(STACKS);
  const all = lines(profile, layOut(tree, null, 100));
  expect(all.filter((line) => line.includes("merged"))).toEqual([]);
});

it("shows the callers of the zoomed box as wide as the picture", () => {
  const { profile, tree } = grown(STACKS);
  const load = tree.childrenOf(tree.roots[0])[0];
  expect(lines(profile, layOut(tree, load, 700))).toEqual([
    "0 0 700 all outer",
    "1 0 700 main outer",
    "2 0 700 load",
    "3 0 600 parse",
  ]);
});

it("goes both ways from a pivot, also when it is zoomed", () => {
  const { profile, tree } = grown(STACKS, ["pivot:/^(load|worker)$/"]);
  expect(lines(profile, layOut(tree, null, 800))).toEqual([
    "-1 0 700 main",
    "0 0 700 load",
    "0 700 100 worker",
    "1 0 600 parse",
    "1 700 60 a",
    "1 760 38 b",
    "1 798 1 c",
    "1 799 1 d",
  ]);
  expect(lines(profile, layOut(tree, tree.roots[0], 700))).toEqual([
    "-1 0 700 main",
    "0 0 700 load",
    "1 0 600 parse",
  ]);
  const main = tree.childrenOf(tree.callers[0])[0];
  expect(lines(profile, layOut(tree, main, 700))).toEqual(["-1 0 700 main", "0 0 700 load outer"]);
});

it("finds the box at a place", () => {
  const { profile, tree } = grown(STACKS);
  const layout = layOut(tree, null, 500);
  const at = (row: number, x: number) => {
    const node = boxAt(layout, row, x)?.node;
    return node ? functionName(profile, node.key) : null;
  };
  expect([at(1, 0), at(1, 449), at(1, 450), at(2, 350), at(3, 299)]).toEqual([
    "main",
    "main",
    "worker",
    "save",
    "parse",
  ]);
  expect([at(3, 301), at(9, 5), at(1, -1)]).toEqual([null, null, null]);
});

it("moves to the box that arrows point to", () => {
  const { profile, tree } = grown(STACKS);
  const layout = layOut(tree, null, 500);
  const name = (box: Box | undefined) => {
    if (!box) return undefined;
    return box.node ? functionName(profile, box.node.key) : "all";
  };
  const all = moved(layout, null, "away")!;
  const main = moved(layout, all, "away")!;
  const worker = moved(layout, main, "right")!;
  expect([all, main, worker].map(name)).toEqual(["all", "main", "worker"]);
  expect(name(moved(layout, worker, "away"))).toBe("a");
  expect(name(moved(layout, moved(layout, worker, "away")!, "back"))).toBe("worker");
  expect(name(moved(layout, main, "back"))).toBe("all");
  expect(moved(layout, worker, "right")).toBeUndefined();
  expect(name(moved(layout, worker, "first"))).toBe("main");
  expect(name(moved(layout, main, "last"))).toBe("worker");
  const zoomed = layOut(tree, tree.roots[0], 500);
  expect(name(nearest(zoomed, main))).toBe("main");
  expect(name(nearest(zoomed, worker))).toBe("main");
});

it("counts a stack once in which a search matches twice", () => {
  const { profile, values, left } = grown(STACKS);
  const found = (text: string) => {
    const result = search(profile, left, values, text);
    return result && [result.functionCount, result.total];
  };
  expect(found("/load|parse/")).toEqual([2, 700]);
  expect(found("PARSE")).toEqual([1, 600]);
  expect(found("/^load$/")).toEqual([1, 700]);
  expect(found("nobody")).toEqual([0, 0]);
  expect(found("")).toBeNull();
  expect(search(profile, left, values, "/(/")?.error).toMatch(/./);
});

it("searches what filters left", () => {
  const { profile, values, left } = grown(STACKS, ["hide-stack:save", "from-frame:load"]);
  const found = (text: string) => search(profile, left, values, text);
  expect(found("save")?.functionCount).toBe(0);
  expect(found("main")?.functionCount).toBe(0);
  expect(found("parse")?.total).toBe(600);
});

it("cuts names so that they fit", () => {
  const measure = (text: string) => text.length;
  const forms = ["a::b::run(int)", "a::b::run", "…b::run", "…run"];
  expect([20, 9, 7, 4].map((width) => fitting(forms, width, measure))).toEqual(forms);
  expect(fitting(forms, 3, measure)).toBe("run".slice(0, 2) + "…");
  expect(fitting(forms, 2, measure)).toBe("");
  expect(fitting(["lib.so+0x1badf94"], 9, measure)).toBe(
    "…+0x1badf94".slice(-9).replace(/^./, "…"),
  );
  expect(cutToFit("ab😀cd", 4, measure)).toBe("ab…");
  const { profile } = made([["ns::inner::f", 1]]);
  expect(formsOf(profile, 0)).toEqual(["ns::inner::f", "…inner::f", "…f"]);
});

it("finds a box by its address, or the nearest one outside of it", async () => {
  const model = await modelOf(madeTwice([["main a", 1]], [["main a b", 5]]));
  const { tree } = model;
  const at = (node: TreeNode) => tree.childrenOf(node)[0];
  const b = at(at(tree.roots[0]));
  expect(model.find(addressOf(tree, b))).toBe(b);
  expect(model.find(`${addressOf(tree, at(tree.roots[0]))}.999`)).toBe(at(tree.roots[0]));
  expect(model.find("nonsense")).toBeNull();
  expect(model.find("")).toBeNull();
});

it("compares two snapshots, also stacks that are gone", async () => {
  const profile = madeTwice(
    [
      ["main grew", 10],
      ["main gone", 40],
      ["main same", 7],
    ],
    [
      ["main grew", 100],
      ["main new", 5],
      ["main same", 7],
    ],
  );
  const model = await modelOf(profile, "", 0);
  const { tree } = model;
  const nodes = tree.childrenOf(tree.roots[0]);
  const told = nodes.map((node) => {
    const change = model.change(node)!;
    const name = functionName(profile, model.functionOf(node));
    return `${name} ${node.total} ${change.before} ${change.after} ${change.verdict}`;
  });
  expect(told).toEqual([
    "grew 100 10 100 grew",
    "gone 40 40 0 gone",
    "same 7 7 7 same",
    "new 5 0 5 new",
  ]);
  expect([model.totalBefore, model.total]).toEqual([57, 112]);
  expect(model.change(tree.roots[0])).toMatchObject({ before: 57, after: 112, delta: 55 });
});

it("tells what is known of a box", async () => {
  const model = await modelOf(madeTwice([], STACKS));
  const { tree } = model;
  const layout = layOut(tree, null, 500);
  const box = boxOfNode(layout, tree, tree.childrenOf(tree.roots[0])[0])!;
  expect(infoOf(model, box, tree.roots[0], "all")).toEqual({
    name: "load",
    facts: [
      { title: "Total", text: "700 B, 70.0 %, 77.8 % of the zoomed box" },
      { title: "Self", text: "100 B, 10.0 %" },
      { title: "Margin of the total", text: "exact" },
      { title: "Module", text: "sample" },
      { title: "Source", text: "not recorded" },
    ],
  });
  const merged = layout.rows.get(2)!.find((each) => each.mergedCount > 0)!;
  expect(infoOf(model, merged, null, "all")).toMatchObject({ name: "2 smaller frames" });
  expect(stackText(model, box.node!, false)).toBe("main\nload\n");
});

it("saves stacks as folded text, the same in both orders", async () => {
  const profile = madeTwice([], STACKS);
  const down = await modelOf(profile);
  const up = new GraphModel({ ...down.spec, direction: "up" });
  const sorted = (text: string) => text.trimEnd().split("\n").sort();
  expect(sorted(foldedOf(down, null))).toEqual([
    "main;load 100",
    "main;load;parse 600",
    "main;save 200",
    "worker;a 60",
    "worker;b 38",
    "worker;c 1",
    "worker;d 1",
  ]);
  expect(sorted(foldedOf(up, null))).toEqual(sorted(foldedOf(down, null)));
  expect(sorted(foldedOf(down, down.tree.roots[1]))).toHaveLength(4);
  const filters = [parseFilter("pivot:load")!];
  const pivot = new GraphModel({ ...down.spec, filters });
  expect(sorted(foldedOf(pivot, null))).toEqual(["load 100", "load;parse 600"]);
  expect(foldedOf(pivot, pivot.tree.callers[0])).toBe("main;load 700\n");
});

it("begins where the memory is divided, if that is out of sight", () => {
  const chain = Array.from({ length: 30 }, (_, i) => `f${i}`).join(" ");
  const { tree } = grown([
    [`${chain} a`, 60],
    [`${chain} b`, 40],
  ]);
  const layout = layOut(tree, null, 500);
  /* Row 31 is divided; a third of what is seen, six rows, stands above it. */
  expect(dividedAt(layout, 380)).toBe((31 - 6) * ROW_PX);
  expect(dividedAt(layout, 2000)).toBe(0);
  const { tree: flat } = grown(STACKS);
  expect(dividedAt(layOut(flat, null, 500), 380)).toBe(0);
  const { tree: one } = grown([["main load", 5]]);
  expect(dividedAt(layOut(one, null, 500), 380)).toBe(0);
});

it("says what the picture means", async () => {
  const profile = madeTwice([["main a", 1]], [["main a b", 5]]);
  const alone = await modelOf(profile);
  const compared = await modelOf(profile, "", 0);
  const up = new GraphModel({ ...alone.spec, direction: "up" });
  expect(hintOf(alone, false)).toBe(
    "A box is a function. The wider it is, the more it and the functions below it allocated.",
  );
  expect(hintOf(alone, true)).toMatch(/functions above it allocated\.$/);
  expect(hintOf(compared, false)).toMatch(/before or after, whichever is larger\.$/);
  expect(hintOf(up, false)).toMatch(/^The functions of the first row allocated; below each stand/);
});

it("gives colours to the modules that cover most, not to those that allocate", async () => {
  const calls: Stacks = [
    ...Array.from("abcdefg", (name): Stacks[number] => [`app ${name} malloc`, 1]),
    ["app runtime malloc", 80],
    ["app runtime json malloc", 10],
  ];
  const profile = madeTwice(calls, calls);
  /* Each function is in a module of its own name. */
  profile.functions.name.forEach((name, i) => (profile.functions.file[i] = name));
  const { legend } = colouringOf(await modelOf(profile), "module")!;
  const names = legend.map((each) => each.name);
  expect(names.slice(0, 4).sort()).toEqual(["app", "json", "malloc", "runtime"]);
  expect([names.length, names[names.length - 1]]).toEqual([8, "other modules"]);
});
