/*
 * The call tree that the page makes of a real profile is that of the operator of `heapscope query`:
 * the same boxes with the same sums, for each filter and each order. HEAPSCOPE_FLAMEGRAPHS names a
 * file with the operator's results, which test/e2e/test_page_flame.py writes.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { CallTree, pathOf, walk, type TreeNode } from "../../src/data/call_tree.ts";
import { measureOf, type MeasureName } from "../../src/data/measures.ts";
import { functionName } from "../../src/data/names.ts";
import { openProfile, type Profile } from "../../src/data/profile.ts";
import { parseFilter } from "../../src/data/select_filters.ts";
import { filterStacks } from "../../src/data/select_stacks.ts";
import { loadSelected, selfByNode, type Selection } from "../../src/data/selection.ts";
import { sourceOf } from "./page_file.ts";

type Row = [
  id: number,
  parent: number | null,
  name: string,
  depth: number,
  self: number,
  total: number,
];

interface Case {
  filters: string[];
  direction: "down" | "up";
  measure: MeasureName;
  rows: Row[];
  /* Of estimates: the operator adds up whole numbers. */
  rounding: number;
}

const cases = JSON.parse(readFileSync(process.env["HEAPSCOPE_FLAMEGRAPHS"]!, "utf8")) as Case[];

const html = readFileSync(process.env["HEAPSCOPE_PAGE"]!, "utf8");
const profile: Profile = await openProfile(sourceOf(html));

type Boxes = Map<string, { self: number; total: number }>;

/* Boxes by the names on their path; functions of one name in two modules are one here. */
function add(boxes: Boxes, path: string, self: number, total: number): void {
  const box = boxes.get(path) ?? { self: 0, total: 0 };
  boxes.set(path, { self: box.self + self, total: box.total + total });
}

function ofOperator(rows: readonly Row[]): Boxes {
  const boxes: Boxes = new Map();
  const paths = new Map<number, string>();
  for (const [id, parent, name, depth, self, total] of rows) {
    const above = parent === null ? (depth < 0 ? "callers" : "") : (paths.get(parent) ?? "?");
    paths.set(id, `${above}\n${name}`);
    add(boxes, `${above}\n${name}`, self, total);
  }
  return boxes;
}

async function ofPage(each: Case): Promise<Boxes> {
  const selection: Selection = {
    snapshots: profile.files[0].selected,
    measure: measureOf(each.measure),
    heap: null,
    parts: { thread: null, type: null, scope: null, age: null },
  };
  const loaded = await loadSelected(profile, selection.snapshots);
  const filters = each.filters.map((text) => parseFilter(text)!);
  const stacks = filterStacks(profile, filters);
  const values = selfByNode(profile, loaded, selection);
  const { count } = profile.functions;
  const tree = new CallTree(stacks, values, stacks.functionOf, count, each.direction);
  const boxes: Boxes = new Map();
  const name = (node: TreeNode) => functionName(profile, node.key);
  walk(tree, (node) => {
    const above = node.depth < 0 ? "callers" : "";
    add(boxes, `${above}\n${pathOf(node).map(name).join("\n")}`, node.self, node.total);
  });
  return boxes;
}

describe.each(cases)("$direction, $measure, $filters", (each) => {
  it("has the boxes of the operator", async () => {
    const [own, other] = [await ofPage(each), ofOperator(each.rows)];
    expect(other.size).toBeGreaterThan(each.filters.includes("show-stack:nobody") ? -1 : 0);
    const close = (a: number, b: number) => Math.abs(a - b) <= each.rounding + 1e-9 * Math.abs(b);
    const wrong: unknown[] = [];
    for (const [path, box] of other) {
      const found = own.get(path) ?? { self: 0, total: 0 };
      if (!close(found.self, box.self) || !close(found.total, box.total)) {
        wrong.push({ path, found, box });
      }
    }
    for (const [path, found] of own) {
      if (!other.has(path) && found.total > each.rounding) wrong.push({ path, found });
    }
    expect(wrong.slice(0, 3)).toEqual([]);
  });
});
