/*
 * Comparisons: flame graph, table and difference state the same margins and verdicts, and the names
 * and filters of each file hold for its own stacks.
 */
import { beforeAll, describe, expect, it } from "vitest";

import type { TreeNode } from "../src/data/call_tree.ts";
import { countWeight, marginOf } from "../src/data/margin.ts";
import { figureAt } from "../src/data/figures.ts";
import { functionName, moduleName } from "../src/data/names.ts";
import { openProfile, type Profile } from "../src/data/profile.ts";
import { parseFilter } from "../src/data/select_filters.ts";
import { loadSelected, selectionOf, type LoadedRows } from "../src/data/selection.ts";
import { isCumulative, weightOfSide } from "../src/data/two_sides.ts";
import { changeAt, changesOf, compare } from "../src/diff/compare.ts";
import { hindranceOf, selectionOfSide } from "../src/diff/sides.ts";
import { stackText } from "../src/graph/info.ts";
import { GraphModel } from "../src/graph/model.ts";
import { matchingFunctions } from "../src/data/select_filters.ts";
import { parseAddress } from "../src/state.ts";
import { figureColumns } from "../src/table/figure_columns.ts";
import { keyOfId } from "../src/table/kinds.ts";
import { makeSums } from "../src/table/sums.ts";
import { sampleSource } from "./sample.ts";
import { COARSE_BYTES, FINE_BYTES, twoFiles } from "./two_files.ts";

const SIDES = { before: [0, 1], after: [2, 3] };

let profile: Profile;
let loaded: { before: LoadedRows[]; after: LoadedRows[] };

beforeAll(async () => {
  profile = twoFiles();
  loaded = {
    before: await loadSelected(profile, SIDES.before),
    after: await loadSelected(profile, SIDES.after),
  };
});

const select = (fragment: string) => selectionOf(profile, parseAddress(fragment));

function both(fragment: string, ...texts: string[]) {
  const selection = select(fragment);
  const filters = texts.map((text) => parseFilter(text)!);
  const model = new GraphModel({
    profile,
    rows: loaded.after,
    selection: selectionOfSide(selection, SIDES.after),
    base: { rows: loaded.before, selection: selectionOfSide(selection, SIDES.before) },
    filters,
    direction: "down",
    isRecursionMerged: false,
  });
  return { model, comparison: compare(profile, SIDES, loaded, selection, filters) };
}

/* "main 100 340 grew" of each box, callers first. */
function boxes({ model }: ReturnType<typeof both>, list = model.tree.roots): string[] {
  return list.flatMap((node): string[] => {
    const { before, after, verdict } = model.change(node)!;
    const own = `${functionName(profile, model.functionOf(node))} ${before} ${after} ${verdict}`;
    return [own, ...boxes({ model } as ReturnType<typeof both>, model.tree.childrenOf(node))];
  });
}

function totals({ comparison }: ReturnType<typeof both>): string[] {
  return changesOf(comparison, comparison.total).map(({ id, change }) => {
    const name = functionName(profile, comparison.same.functionOf[id]);
    return `${name} ${change.before} ${change.after} ${change.verdict}`;
  });
}

describe("margins and verdicts", () => {
  const measures = ["space", "objects", "alloc_space", "alloc_objects"];
  const cases = measures.flatMap((measure) =>
    ["", "&heap=0", "&heap=1"].map((heap) => `#measure=${measure}${heap}`),
  );

  it.each(cases)("are the same in the flame graph and the difference: %s", (fragment) => {
    const { model, comparison } = both(fragment);
    const [root] = model.tree.roots;
    const key = comparison.same.keys[model.functionOf(root)];
    expect(model.change(root)).toEqual(changeAt(comparison, comparison.total, key));
  });

  it.each(cases)("are the same in the flame graph and the table: %s", (fragment) => {
    const selection = selectionOfSide(select(fragment), SIDES.after);
    const model = new GraphModel({ ...both(fragment).model.spec, base: null });
    const sums = makeSums(profile, loaded.after, selection, []);
    const own = figureColumns(false, selection.measure);
    const column = own.find(({ measure }) => measure === selection.measure)!;
    const [root] = model.tree.roots;
    const shown = sums.column("functions", { ...column, isTotal: true })!;
    const { figures, at } = shown.figure(keyOfId(root.key));
    const figure = figureAt(figures, at);
    expect(figure.value).toBe(root.total);
    expect(marginOf(figure)).toEqual(marginOf(model.figure(root)));
  });

  it("take the weight of the chosen heap, for each process of a family", () => {
    const weight = (fragment: string) => weightOfSide(profile, loaded.before, select(fragment));
    expect(weight("")).toBe(2 * COARSE_BYTES);
    expect(weight("#heap=1")).toBe(2 * FINE_BYTES);
    expect(weight("#heap=1&measure=objects")).toBeCloseTo(2 * countWeight(FINE_BYTES), 9);
    expect(weightOfSide(profile, [], select(""))).toBe(0);
  });

  it("take counts of samples for what they are", () => {
    const snapshot = structuredClone(loaded.before[0].snapshot);
    snapshot.heaps[0].has_sample_counts = true;
    const rows = [{ ...loaded.before[0], snapshot }];
    const weight = (fragment: string) => weightOfSide(profile, rows, select(fragment));
    expect(weight("#measure=objects")).toBe(1);
    expect(weight("#measure=objects&heap=1")).toBeCloseTo(countWeight(FINE_BYTES), 9);
    expect(weight("")).toBe(COARSE_BYTES);
  });

  it("tell growth in a finely sampled heap from chance, and not in a coarsely sampled one", () => {
    const verdict = (fragment: string) => {
      const { model } = both(fragment);
      return model.change(model.tree.roots[0])!.verdict;
    };
    expect([verdict("#heap=1"), verdict("")]).toEqual(["grew", "noise"]);
  });
});

it("one side contains the other only forwards, in one process, of what was allocated", async () => {
  const one = await openProfile(sampleSource());
  const is = (before: number[], after: number[], quantity: "alloc" | "live") =>
    isCumulative(one, before, after, quantity);
  expect(is([0], [1], "alloc")).toBe(true);
  expect(is([1], [0], "alloc")).toBe(false);
  expect(is([0], [1], "live")).toBe(false);
  expect(is([0, 1], [1], "alloc")).toBe(true);
  expect(is([], [1], "alloc")).toBe(false);
  expect(isCumulative(profile, [0], [2], "alloc")).toBe(false);
});

describe("two files", () => {
  it("have the same functions, under the names of the later one", () => {
    const { comparison } = both("#heap=1");
    const list = changesOf(comparison, comparison.self).map(({ id, change }) => {
      const index = comparison.same.functionOf[id];
      const name = `${functionName(profile, index)} ${moduleName(profile, index)}`;
      return `${name} ${change.before} ${change.after}`;
    });
    expect(list).toEqual([
      "parse.isra.0 liba.so.2 200000 600000",
      "cache liba.so.2 0 80000",
      "load liba.so.2 0 20000",
    ]);
  });

  it("have the same stacks in the graph and in the table", () => {
    const both1 = both("#heap=1");
    expect(boxes(both1)).toEqual([
      "main 200000 700000 grew",
      "load 200000 700000 grew",
      "parse.isra.0 200000 600000 grew",
      "cache 0 80000 new",
    ]);
    expect(totals(both1)).toEqual([
      "main 200000 700000 grew",
      "load 200000 700000 grew",
      "parse.isra.0 200000 600000 grew",
      "cache 0 80000 new",
    ]);
  });

  it("keep a frame that a filter hides in the other file alone", () => {
    const hidden = both("#heap=1", "hide-frame:in:/opt/new/lib");
    expect(boxes(hidden)).toEqual([
      "main 200000 700000 grew",
      "load 200000 0 gone",
      "parse 200000 0 gone",
    ]);
    expect(totals(hidden)).toEqual([
      "main 200000 700000 grew",
      "load 200000 0 gone",
      "parse 200000 0 gone",
    ]);
  });

  it.each(["show-stack:in:/opt/new/", "hide-stack:in:/usr/", "from-frame:in:/opt/new/bin"])(
    "show stacks that a filter leaves in the later file alone: %s",
    (filter) => {
      const shown = both("#heap=1", filter);
      expect([shown.model.totalBefore, shown.model.total]).toEqual([0, 700000]);
      expect(totals(shown)).toContain("main 0 700000 new");
    },
  );

  it("keep a frame that a filter hides in the earlier file alone", () => {
    const hidden = both("#heap=1", "hide-frame:in:/usr/lib");
    expect(boxes(hidden)).toEqual([
      "main 200000 700000 grew",
      "load 0 700000 new",
      "parse.isra.0 0 600000 new",
      "cache 0 80000 new",
    ]);
  });

  it("have a pivot in the later file alone", () => {
    const pivot = both("#heap=1", "pivot:in:/opt/new/lib");
    expect([pivot.model.totalBefore, pivot.model.total]).toEqual([0, 700000]);
  });

  it("show what a hidden frame holds, though its caller alone would not be shown", () => {
    const shown = both("#heap=1", "show-stack:load", "hide-frame:/load|parse|cache/");
    expect(boxes(shown)).toEqual(["main 200000 700000 grew"]);
  });

  it("are found under the names and places of both", () => {
    const { model } = both("#heap=1");
    const isFound = (text: string) => {
      const matches = model.matchingBoxes(matchingFunctions(profile, text));
      const names: string[] = [];
      const visit = (node: TreeNode) => {
        if (matches[node.key]) names.push(functionName(profile, model.functionOf(node)));
        model.tree.childrenOf(node).forEach(visit);
      };
      model.tree.roots.forEach(visit);
      return names;
    };
    expect(isFound("/^parse$/")).toEqual(["parse.isra.0"]);
    expect(isFound("isra")).toEqual(["parse.isra.0"]);
    expect(isFound("in:/usr/lib")).toEqual(["load", "parse.isra.0"]);
  });

  it("have the places of both sides in a box", () => {
    const { model } = both("#heap=1");
    const load = model.tree.childrenOf(model.tree.roots[0])[0];
    expect([...model.entriesOf(load)].sort((a, b) => a - b)).toEqual([1, 4]);
    expect(stackText(model, load, false)).toBe("main\nload\n");
  });
});

describe("sides that cannot be compared", () => {
  const all = () => [...loaded.before, ...loaded.after];
  const why = (fragment: string, rows = all()) => hindranceOf(profile, rows, select(fragment));

  it("have no filter that holds for one of them", () => {
    expect(why("")).toBe("");
    expect(why("#thread=0")).toMatch(/^The filter by thread holds for one side only/);
    expect(why("#scope=0")).toMatch(/^The filter by scope holds for one side only/);
    expect(why("#thread=0&scope=0")).toMatch(/^The filter by thread and scope holds/);
  });

  it("have no filter that was not recorded", () => {
    const same = [loaded.before[0], loaded.before[0]];
    expect(why("#thread=0", same)).toMatch(/^The filter by thread selects nothing/);
    expect(why("#type=0")).toMatch(/^The filter by type selects nothing/);
  });

  it("have the quantity on both sides", () => {
    const rows = { ...loaded.after[0].rows, live: null };
    expect(why("", [loaded.before[0], { ...loaded.after[0], rows }])).toBe(
      "Live memory was not recorded on both sides.",
    );
  });
});
