/* diff/ and trend/: which snapshots are compared, sums by function, words. */
import { describe, expect, it } from "vitest";

import type { ProfileFile, RawProfile, RawRows, Snapshot } from "../src/data/documents.ts";
import { measureOf } from "../src/data/measures.ts";
import { changeOf, type Figure } from "../src/data/margin.ts";
import { functionName } from "../src/data/names.ts";
import { decodeProfile, ROOT } from "../src/data/profile.ts";
import { loadSelected, selectionOf } from "../src/data/selection.ts";
import {
  changeList,
  chosenRows,
  rowModule,
  rowName,
  savedRow,
  type ListKind,
} from "../src/diff/change_list.ts";
import { changeAt, changesOf, compare, wholeChange } from "../src/diff/compare.ts";
import { partChanges } from "../src/diff/resident.ts";
import { canCompare, measureOfSides, sidesOf } from "../src/diff/sides.ts";
import { deltaText, toneOf, whatChanged } from "../src/diff/words.ts";
import { parseAddress } from "../src/state.ts";
import { toneOf as toneOfLine, trendOf } from "../src/trend/lines.ts";
import { madeTwice } from "./made.ts";
import { sampleProfile, sampleRows } from "./sample.ts";

type Raw = Omit<RawProfile, "snapshots" | "files"> & {
  snapshots: Snapshot[];
  files: ProfileFile[];
};

/* Both snapshots of the sample have rows; those of the first are `before`. */
function profileOf(
  before: (rows: RawRows) => void = () => {},
  change: (raw: Raw) => void = () => {},
) {
  const raw = structuredClone(sampleProfile()) as Raw;
  raw.snapshots[0] = { ...raw.snapshots[0], rows: "rows-0" };
  change(raw);
  const early = structuredClone(sampleRows());
  before(early);
  return decodeProfile(raw, {
    isServed: false,
    async load<T>(name: string): Promise<T> {
      return (name === "rows-0" ? early : sampleRows()) as T;
    },
  });
}

/* parse had 30 bytes, load had 25. */
function lessOfParse(rows: RawRows) {
  for (const key of ["bytes", "exact_bytes"] as const) rows.live![key] = [25, 30, 50];
}

async function comparisonOf(profile: ReturnType<typeof profileOf>, fragment = "") {
  const sides = { before: [0], after: [1] };
  const loaded = {
    before: await loadSelected(profile, [0]),
    after: await loadSelected(profile, [1]),
  };
  const selection = {
    ...selectionOf(profile, parseAddress(fragment)),
    measure: measureOf("space"),
  };
  return compare(profile, sides, loaded, selection, []);
}

describe("sides", () => {
  it("are named in the address", () => {
    const address = parseAddress("#diff.before=1&diff.after=0");
    expect(sidesOf(profileOf(), address)).toEqual({ before: [1], after: [0] });
  });

  it.each(["", "#diff.before=7&diff.after=x", "#diff.before=-1"])(
    "are the first snapshot and that with the most memory otherwise: %s",
    (fragment) =>
      expect(sidesOf(profileOf(), parseAddress(fragment))).toEqual({ before: [0], after: [1] }),
  );

  it("are the first and the last snapshot if the first has the most", () => {
    const profile = profileOf(undefined, (raw) => {
      raw.snapshots[0] = { ...raw.snapshots[0], live: { bytes: 500, count: 1 } };
    });
    expect(sidesOf(profile, parseAddress(""))).toEqual({ before: [0], after: [1] });
  });

  it("are what the reports of two files are about", () => {
    const profile = profileOf(undefined, (raw) => {
      raw.files = [{ ...raw.files[0], selected: [0] }, { ...raw.files[0] }];
    });
    expect(sidesOf(profile, parseAddress(""))).toEqual({ before: [0], after: [1] });
  });

  it("need two snapshots with rows", () => {
    expect(canCompare(profileOf())).toBe(true);
    const single = profileOf(undefined, (raw) => {
      raw.snapshots[0] = { ...raw.snapshots[0], rows: null };
    });
    expect(canCompare(single)).toBe(false);
  });

  it("have no peak that was not recorded", () => {
    const measure = (profile: ReturnType<typeof profileOf>) =>
      measureOfSides(profile, parseAddress("#measure=peak"), { before: [0], after: [1] }).name;
    expect(measure(profileOf())).toBe("space");
    const withPeak = profileOf(undefined, (raw) => {
      raw.snapshots = raw.snapshots.map((each) => ({ ...each, has_peak: true }));
    });
    expect(measure(withPeak)).toBe("peak");
  });
});

describe("a comparison", () => {
  it("has the changes of functions, the largest first", async () => {
    const profile = profileOf(lessOfParse);
    const comparison = await comparisonOf(profile);
    const named = changesOf(comparison, comparison.self).map(({ id, change }) => [
      functionName(profile, comparison.same.functionOf[id]),
      change.before,
      change.after,
      change.verdict,
    ]);
    expect(named).toEqual([
      ["parse", 30, 100, "grew"],
      ["load", 25, 20, "shrank"],
    ]);
  });

  it("has what functions hold with what they call", async () => {
    const comparison = await comparisonOf(profileOf(lessOfParse));
    const change = changeAt(comparison, comparison.total, 0);
    expect([change.before, change.after]).toEqual([55, 120]);
    expect(wholeChange(comparison)).toMatchObject({ before: 55, after: 120, verdict: "grew" });
  });

  it("has stacks, from the innermost function on", async () => {
    const comparison = await comparisonOf(profileOf(lessOfParse));
    const [{ id, change }] = changesOf(comparison, comparison.stacks);
    expect(change.delta).toBe(70);
    const callers = [comparison.callerOf(id), comparison.callerOf(comparison.callerOf(id))];
    expect([id, ...callers, comparison.callerOf(0)]).toEqual([2, 1, 0, ROOT]);
  });

  it("is of the chosen heap", async () => {
    const comparison = await comparisonOf(profileOf(lessOfParse), "#heap=1");
    expect(wholeChange(comparison)).toMatchObject({ before: 50, after: 50, verdict: "same" });
  });

  it("counts a function that calls itself once", async () => {
    const profile = profileOf(lessOfParse, (raw) => {
      /* parse is load */
      raw.frames = { ...raw.frames, function: [0, 1, 1] };
    });
    const comparison = await comparisonOf(profile);
    expect(changeAt(comparison, comparison.total, 1)).toMatchObject({ before: 55, after: 120 });
  });

  it("may be chance", async () => {
    const sampled = (rows: RawRows) => {
      lessOfParse(rows);
      rows.live = { ...rows.live!, exact_bytes: 0, exact_count: 0, bytes_var: [40, 40, 40] };
      rows.bytes_var_unit = 4096;
    };
    const profile = profileOf(sampled, (raw) => {
      raw.snapshots = raw.snapshots.map((each) => ({ ...each, weight_bytes: 4096 }));
    });
    expect(wholeChange(await comparisonOf(profile)).verdict).toBe("noise");
  });
});

const exact = (value: number): Figure => ({ value, sampled: 0, variance: 0, weight: 0 });
const named = (name: string, before: number, after: number) => ({
  name,
  change: changeOf(exact(before), exact(after)),
});

describe("words", () => {
  const space = measureOf("space");
  const words = (before: number, after: number, list: ReturnType<typeof named>[]) =>
    whatChanged(changeOf(exact(before), exact(after)), list, space, true);

  it("say what grew and what shrank", () => {
    const list = [
      named("load", 0, 5000),
      named("parse", 100, 1100),
      named("free", 900, 100),
      named("same", 7, 7),
    ];
    expect(words(1000, 6200, list)).toBe(
      "Live memory grew by 5.08 KiB, from 1000 B to 6.05 KiB. What grew: load +4.88 KiB and " +
        "parse +1000 B. What shrank: free −800 B.",
    );
  });

  it("name three, and count the rest", () => {
    const list = ["a", "b", "c", "d", "e"].map((name) => named(name, 0, 10));
    expect(words(0, 50, list)).toMatch(/a \+10 B, b \+10 B, c \+10 B and 2 other functions\.$/);
  });

  it("do not call chance a change", () => {
    const noisy: Figure = { value: 8192, sampled: 8192, variance: 8192 * 4096, weight: 4096 };
    const change = changeOf(noisy, { ...noisy, value: 12288, sampled: 12288 });
    expect(toneOf(change.verdict)).toBe("noise");
    const text = whatChanged(change, [{ name: "load", change }], space, true);
    expect(text).toMatch(/not larger than the chance of sampling explains.*1 function may be/);
    expect(text).not.toMatch(/grew/);
  });

  it("say that nothing changed", () => {
    expect(words(10, 10, [])).toBe("Live memory: 10 B on both sides.");
    expect(deltaText(changeOf(exact(10), exact(10)), space)).toBe("0 B");
  });
});

describe("the table", () => {
  const profile = madeTwice(
    [
      ["main parse", 40],
      ["main init", 5],
    ],
    [
      ["main load", 50],
      ["main parse", 10],
      ["main init", 5],
    ],
  );
  const all = ["grew", "shrank", "noise"];

  async function names(kind: ListKind, ...args: [string, string[], string]) {
    const list = changeList(profile, await comparisonOf(profile), kind);
    return chosenRows(list, ...args).map(({ id }) => rowName(list, id));
  }

  it("is sorted and filtered", async () => {
    expect(await names("self", "change", all, "")).toEqual(["load", "parse", "init"]);
    expect(await names("self", "before", all, "")).toEqual(["parse", "init", "load"]);
    expect(await names("self", "name", all, "")).toEqual(["init", "load", "parse"]);
    expect(await names("self", "change", ["shrank"], "")).toEqual(["parse"]);
    expect(await names("self", "change", all, "LOA")).toEqual(["load"]);
    expect(await names("self", "change", all, "/^(load|init)$/")).toEqual(["load", "init"]);
    expect(await names("self", "no order", all, "SAMPLE")).toEqual(["load", "parse", "init"]);
  });

  it("finds stacks by each of their functions", async () => {
    expect(await names("stacks", "change", all, "main")).toEqual(["load", "parse", "init"]);
    expect(await names("stacks", "change", all, "parse")).toEqual(["parse"]);
    expect(await names("stacks", "change", all, "nobody")).toEqual([]);
  });

  it("has the callers of stacks, and no module of the program itself", async () => {
    const list = changeList(profile, await comparisonOf(profile), "stacks");
    const [{ id, change }] = list.rows;
    expect(list.callersOf(id).map((index) => functionName(profile, index))).toEqual(["main"]);
    expect(rowModule(list, id)).toBe("");
    expect(savedRow(list, { id, change })).toMatchObject({
      function: "load",
      module: "sample",
      delta: 50,
      frames: ["load", "main"],
    });
  });
});

it("parts of the resident memory change", () => {
  const ledger = (used: number, free: number, more: string) => ({
    rss_bytes: used + free,
    pss_bytes: 0,
    unexplained_bytes: 0,
    lines: [
      { part: "blocks", rss_bytes: used },
      { part: "free", rss_bytes: free },
      { part: more, rss_bytes: 1 },
    ],
  });
  expect(partChanges(ledger(10, 50, "a") as never, ledger(15, 20, "b") as never)).toEqual([
    { name: "free", before: 50, after: 20 },
    { name: "blocks", before: 10, after: 15 },
    { name: "a", before: 1, after: 0 },
    { name: "b", before: 0, after: 1 },
  ]);
});

describe("a trend", () => {
  const line = { first: 1, last: 9, per_second: 2, low: 1, high: 3, steps_up: 4, steps_down: 0 };
  const trend = trendOf({
    unit: "bytes",
    snapshots: 5,
    total: { ...line, verdict: "grows" },
    resident: { verdict: "It grew.", rss: { ...line, verdict: "noise" } },
    functions: [{ ...line, function: "load", verdict: "shrinks", leak_confidence: 0.9 }],
    stacks: [{ ...line, frames: ["load", "main"], verdict: "grows" }],
  });

  it("is read from its document", () => {
    expect(trend.total).toMatchObject({ perSecond: 2, low: 1, high: 3, stepsUp: 4 });
    expect(trend.functions[0]).toMatchObject({ frames: ["load"], leakConfidence: 0.9 });
    expect(trend.stacks[0].frames).toEqual(["load", "main"]);
    expect(trend.resident?.words).toBe("It grew.");
    expect([trend.total, trend.functions[0], trend.resident!.line!].map(toneOfLine)).toEqual([
      "grew",
      "shrank",
      "noise",
    ]);
  });

  it("may be damaged", () => {
    const strange = trendOf({ functions: [null, { frames: [1, {}] }], stacks: "x", resident: 7 });
    expect(strange.functions.map((row) => row.frames)).toEqual([[""], ["", ""]]);
    expect([strange.stacks, strange.resident]).toEqual([[], null]);
  });
});
