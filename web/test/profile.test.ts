/* data/: what becomes of documents, what is refused, and sums over what is selected. */
import { beforeEach, expect, it } from "vitest";

import { breakdown, breakdownName, type BreakdownKey } from "../src/data/breakdown.ts";
import { FormatError } from "../src/data/columns.ts";
import type { RawProfile, RawRows } from "../src/data/documents.ts";
import { stackOf } from "../src/data/names.ts";
import { decodeProfile, openProfile, ROOT, type Profile } from "../src/data/profile.ts";
import { decodeRows } from "../src/data/rows.ts";
import {
  loadSelected,
  rowValues,
  selectionOf,
  selfByNode,
  totalsByNode,
  unknownParts,
} from "../src/data/selection.ts";
import { parseAddress } from "../src/state.ts";
import { sampleProfile, sampleRows, sampleSource } from "./sample.ts";

let profile: Profile;

beforeEach(async () => {
  profile = await openProfile(sampleSource());
});

const select = (fragment: string) => selectionOf(profile, parseAddress(fragment));

async function sums(fragment: string) {
  const selection = select(fragment);
  const loaded = await loadSelected(profile, selection.snapshots);
  return { selection, loaded, self: [...selfByNode(profile, loaded, selection)] };
}

it("makes parents of steps, and adds up counters", () => {
  expect([...profile.tree.parent]).toEqual([ROOT, 0, 1]);
  expect(stackOf(profile, 2)).toEqual([2, 1, 0]);
  expect([...profile.tracks[0].timeMs]).toEqual([0, 1000, 2000]);
  expect([...profile.tracks[0].value]).toEqual([4000, 4500, 5000]);
});

it("shows what the report is about, unless the address names something else", () => {
  expect(select("").snapshots).toEqual([1]);
  expect(select("#snapshot=0").snapshots).toEqual([0]);
  expect(select("#snapshot=0,1,1,99,x").snapshots).toEqual([0, 1]);
  expect(select("#measure=alloc_objects").measure.name).toBe("alloc_objects");
  expect(select("#measure=nonsense").measure.name).toBe("space");
});

it("does not show a peak that was not recorded", () => {
  expect(select("#measure=peak").measure.name).toBe("space");
});

it("adds up the heaps that the totals contain, or the chosen one", async () => {
  expect((await sums("")).self).toEqual([0, 20, 100]);
  expect((await sums("#heap=1")).self).toEqual([0, 0, 50]);
  expect((await sums("#measure=alloc_objects")).self).toEqual([0, 4, 20]);
  const { self } = await sums("");
  expect([...totalsByNode(profile, Float64Array.from(self))]).toEqual([120, 120, 100]);
});

it("adds up the parts of a thread; the last part of a row is its rest", async () => {
  expect((await sums("#thread=0")).self).toEqual([0, 20, 60]);
  expect((await sums("#thread=1")).self).toEqual([0, 0, 40]);
  expect((await sums("#thread=1&measure=objects")).self).toEqual([0, 0, 4]);
});

it("selects nothing by what was not recorded, and says so", async () => {
  const { selection, loaded, self } = await sums("#type=0");
  expect(self).toEqual([0, 0, 0]);
  expect(unknownParts(loaded[0].rows, selection)).toEqual(["type"]);
  const allocated = await sums("#thread=0&measure=alloc_space");
  expect(unknownParts(allocated.loaded[0].rows, allocated.selection)).toEqual(["thread"]);
});

it("leaves out snapshots whose rows are not in the page", async () => {
  expect(await loadSelected(profile, [0, 1])).toHaveLength(1);
});

it.each<[BreakdownKey, [string, number][] | null]>([
  ["function", [["load", 120]]],
  ["module", [["sample", 120]]],
  ["heap", [["libc.malloc", 120]]],
  ["process", [["sample", 120]]],
  [
    "thread",
    [
      ["sample", 80],
      ["worker", 40],
    ],
  ],
  ["type", null],
])("divides by %s", async (key, expected) => {
  const { loaded, selection } = await sums("");
  const parts = breakdown(profile, loaded, selection, key);
  const named = parts && parts.map((part) => [breakdownName(profile, key, part.id), part.value]);
  expect(named).toEqual(expected);
});

it("agrees with itself: parts of a row add up to it", async () => {
  const { loaded, selection } = await sums("");
  const values = rowValues(profile, loaded[0], selection);
  const parts = loaded[0].rows.parts.live;
  const added = new Float64Array(values.length);
  parts?.bytes.forEach((value, i) => (added[parts.row[i]] += value));
  expect([...added.slice(0, 2)]).toEqual([...values.slice(0, 2)]);
});

it.each<[string, (raw: RawProfile) => void]>([
  ["another format", (raw) => (raw.format = 2)],
  ["a column that is too short", (raw) => (raw.tree["up"] = [0, 1])],
  ["a parent that is not there", (raw) => (raw.tree["up"] = [0, 2, 1])],
  ["a frame that is not there", (raw) => (raw.tree["frame"] = [0, 1, 3])],
  ["a string that is not there", (raw) => (raw.functions["name"] = [1, 2, 7])],
  ["a negative string", (raw) => (raw.functions["short"] = -1)],
  ["a table that is missing", (raw) => delete (raw as Partial<RawProfile>).frames],
  ["a selected snapshot that is not there", (raw) => (raw.files[0].selected = [2])],
  ["a process that is not there", (raw) => (raw.snapshots[0].process = 1)],
])("refuses %s", (_, spoil) => {
  const raw = JSON.parse(JSON.stringify(sampleProfile())) as RawProfile;
  spoil(raw);
  expect(() => decodeProfile(raw, sampleSource())).toThrow(FormatError);
});

it("adds what is allocated to what lives, and takes -1 for an exact part that is the whole", () => {
  const raw = sampleRows();
  raw.live = { ...raw.live!, exact_bytes: -1, bytes_var: [1, 2, 0] };
  raw.alloc = { ...raw.alloc!, base: "live", count: 0, exact_bytes: [-1, 7, 0], bytes_var: 0 };
  const { live, alloc } = decodeRows(raw, profile);
  const all = (column: { at(row: number): number }) => [0, 1, 2].map((row) => column.at(row));
  expect(all(live!.exactBytes)).toEqual([20, 100, 50]);
  expect(all(alloc!.bytes)).toEqual([60, 300, 150]);
  expect(all(alloc!.count)).toEqual([2, 10, 5]);
  expect(all(alloc!.exactBytes)).toEqual([60, 7, 0]);
  expect(all(alloc!.bytesVar)).toEqual([1, 2, 0]);
});

it.each<[string, (raw: RawRows) => void]>([
  ["a base that is not there", (raw) => ((raw.live = null), (raw.alloc!.base = "live"))],
  ["a stack that is not there", (raw) => (raw.node = [1, 1, 1])],
  ["a heap that is not there", (raw) => (raw.heap = 2)],
  ["a column that is missing", (raw) => (raw.live!.bytes = null)],
  ["a part of no row", (raw) => (raw.parts.live = { ...raw.parts.live!, row: [0, 1, 0, 2] })],
])("refuses rows with %s", (_, spoil) => {
  const raw = sampleRows();
  spoil(raw);
  expect(() => decodeRows(raw, profile)).toThrow(FormatError);
});
