/* preorder.ts: a large tree in another order is the same tree, with rows of the same stacks. */
import { expect, it } from "vitest";

import { LARGE_TREE, placedParents, placedValues, preorderPlaces } from "../src/data/preorder.ts";
import { decodeProfile } from "../src/data/profile.ts";
import { decodeRows } from "../src/data/rows.ts";
import { buffersOf, revived } from "../src/data/rows_reader.ts";
import { sampleProfile, sampleRows, sampleSource } from "./sample.ts";

it("places a node behind all that an earlier callee calls", () => {
  const parent = Int32Array.of(-1, 0, 0, 1, 2, 1, -1, 6, 0);
  const places = preorderPlaces(parent);
  expect(Array.from(places!)).toEqual([0, 1, 4, 2, 5, 3, 7, 8, 6]);
  expect(Array.from(placedParents(parent, places!))).toEqual([-1, 0, 1, 1, 0, 4, 0, -1, 7]);
  expect(Array.from(placedValues(Int32Array.of(9, 8, 7, 6, 5, 4, 3, 2, 1), places!))).toEqual([
    9, 8, 6, 4, 7, 5, 1, 3, 2,
  ]);
  expect(preorderPlaces(Int32Array.of(-1, 0, 1, 0, -1))).toBeNull();
});

/* A random tree, with a row for each third node that has two parts of different threads. */
function large() {
  const count = LARGE_TREE + 1000;
  let state = 7;
  const below = (limit: number) => (state = (state * 16807) % 2147483647) % limit;
  const raw = sampleProfile();
  const up = Array.from({ length: count }, (_, i) => (i === 0 ? 0 : 1 + below(i)));
  raw.tree = { count, up, frame: up.map(() => below(3)) };
  const nodes = up.map((_, i) => i).filter((i) => i % 3 === 0);
  const each = <T>(value: (i: number) => T) => nodes.map((_, i) => value(i));
  const amounts = {
    bytes: each((i) => 10 + i),
    count: each(() => 1 + below(9)),
    exact_bytes: each((i) => (i % 2 === 0 ? -1 : 5)),
    exact_count: -1,
    bytes_var: each(() => below(4)),
    count_var: 0.5,
  };
  const parts = {
    length: 2 * nodes.length,
    row: each((i) => [i === 0 ? 0 : 1, 0]).flat(),
    thread: each((i) => [i % 2, (i + 1) % 2]).flat(),
    type: null,
    scope: null,
    age: null,
    bytes: each((i) => [i, 0]).flat(),
    count: 0,
  };
  const rows = {
    ...sampleRows(),
    count: nodes.length,
    node: nodes.map((_, i) => (i === 0 ? 0 : 3)),
    heap: 0,
    headline: 0,
    live: amounts,
    alloc: amounts,
    parts: { live: parts, alloc: null, peak: null },
  };
  return { raw, rows };
}

it("reads the same stacks with the same rows", () => {
  const { raw, rows: rawRows } = large();
  const profile = decodeProfile(structuredClone(raw), sampleSource());
  const { places, ...tree } = profile.tree;
  expect(places).not.toBeNull();
  const rows = decodeRows(structuredClone(rawRows), profile);
  const plain = decodeRows(rawRows, { ...profile, tree: { count: tree.count, places: null } });
  const parents = (raw.tree["up"] as number[]).map((step, i) => (step === 0 ? -1 : i - step));
  const pathOf = (node: number, parent: ArrayLike<number>, frame: ArrayLike<number>) => {
    const path = [];
    for (let at = node; at >= 0; at = parent[at]) path.push(frame[at]);
    return path.join();
  };
  const rowOf = new Map(Array.from(rows.node, (node, row) => [node, row]));
  for (let row = 0; row < plain.count; row++) {
    const node = places![plain.node[row]];
    const own = rowOf.get(node)!;
    if (row % 50 === 0) {
      expect(pathOf(node, tree.parent, tree.frame)).toBe(
        pathOf(plain.node[row], parents, raw.tree["frame"] as number[]),
      );
    }
    for (const key of ["bytes", "count", "exactBytes", "exactCount", "bytesVar"] as const) {
      if (rows.live![key].at(own) !== plain.live![key].at(row)) expect(own).toBe(`${key} ${row}`);
    }
  }
  expect(rows.node.every((node, row) => row === 0 || node > rows.node[row - 1])).toBe(true);
  const byThread = ({ node, parts }: typeof rows, placeOf: (node: number) => number) =>
    Array.from(parts.live!.row, (row, k) => {
      return [placeOf(node[row]), parts.live!.thread![k], parts.live!.bytes[k]].join();
    }).sort();
  expect(byThread(rows, (node) => node)).toEqual(byThread(plain, (node) => places![node]));
});

it("makes columns of what a worker sent", () => {
  const raw = sampleRows();
  raw.live = { ...raw.live!, exact_count: -1 };
  const rows = decodeRows(raw, decodeProfile(sampleProfile(), sampleSource()));
  const sent = revived(structuredClone(rows));
  expect(sent).toEqual(rows);
  expect(sent.live!.bytes.at(1)).toBe(rows.live!.bytes.at(1));
  expect(sent.live!.exactCount).toBe(sent.live!.count);
  expect(buffersOf(rows)).toContain(rows.node.buffer);
});
