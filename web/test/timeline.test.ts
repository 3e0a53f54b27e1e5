/* timeline/: curves, counters, ranges, marks, the tree of processes. */
import { describe, expect, it } from "vitest";

import type { Process, RawProfile, RawTrack, Snapshot } from "../src/data/documents.ts";
import { decodeProfile } from "../src/data/profile.ts";
import { selectionOf } from "../src/data/selection.ts";
import { parseAddress } from "../src/state.ts";
import { timeTick } from "../src/timeline/axis.ts";
import {
  addedCounters,
  countersByProcess,
  countersOf,
  defaultCounters,
} from "../src/timeline/counters.ts";
import { aligned, heapCurves, processCurves, stacked, valueAt } from "../src/timeline/curves.ts";
import { markTime, marksOf } from "../src/timeline/marks.ts";
import { hasTimes, pictureOf } from "../src/timeline/what_is_shown.ts";
import { mostLive, treeOf } from "../src/timeline/process_tree.ts";
import { moved, parseRange, rangeOfKey, rangeText, zoomed } from "../src/timeline/range.ts";
import { sampleProfile, sampleSource } from "./sample.ts";

/* The lists of the sample may be changed here. */
type Raw = Omit<RawProfile, "processes" | "snapshots"> & {
  processes: Process[];
  snapshots: Snapshot[];
};

function profileOf(change: (raw: Raw) => void = () => {}) {
  const raw = structuredClone(sampleProfile()) as Raw;
  change(raw);
  return decodeProfile(raw, sampleSource());
}

const liveBytes = (of: { live: { bytes: number } }) => of.live.bytes;

describe("curves", () => {
  it("have one for each heap that the totals contain", () => {
    const curves = heapCurves(profileOf(), 0, null, liveBytes);
    expect(curves.map(({ name, times, values }) => [name, times, values])).toEqual([
      ["libc.malloc", [1000, 2000], [100, 120]],
    ]);
  });

  it("show another heap where it was chosen", () => {
    const [curve, ...more] = heapCurves(profileOf(), 0, 1, liveBytes);
    expect([curve.name, curve.values, more.length]).toEqual(["arena", [50, 50], 0]);
  });

  it("of processes are what was recorded between the snapshots, until each has ended", () => {
    const recorded = { key: "", name: "", times: [500, 900], values: [7, 9], isStep: true };
    const [curve] = processCurves(profileOf(), [0], null, liveBytes, 8, () => recorded);
    expect([curve.key, curve.isStep, curve.values]).toEqual(["process 0", true, [7, 9]]);
    expect([499, 600, 900, 901].map((time) => valueAt(curve, time))).toEqual([null, 7, 9, null]);
  });

  it("are straight between values, and nowhere else", () => {
    const [curve] = heapCurves(profileOf(), 0, null, liveBytes);
    expect([999, 1000, 1500, 2000, 2001].map((time) => valueAt(curve, time))).toEqual([
      null,
      100,
      110,
      120,
      null,
    ]);
  });

  it("hold the values of counters", () => {
    const curve = { key: "", name: "", times: [10, 20], values: [1, 5], isStep: true };
    expect([9, 10, 19, 20, 500].map((time) => valueAt(curve, time))).toEqual([null, 1, 1, 5, 5]);
  });

  it("stand on each other, and are 0 before they begin and after they end", () => {
    const low = { key: "a", name: "a", times: [0, 100], values: [10, 10], isStep: false };
    const high = { key: "b", name: "b", times: [40, 60], values: [5, 7], isStep: false };
    const { times, sums } = stacked([low, high]);
    const at = (time: number) => sums.map((column) => column[times.indexOf(time)]);
    expect(at(0)).toEqual([10, 10]);
    expect(at(40)).toEqual([10, 15]);
    expect(at(60)).toEqual([10, 17]);
    expect(at(60.01)).toEqual([10, 10]);
    expect(at(100.01)).toEqual([0, 0]);
  });

  it("share one axis of time", () => {
    const [times, a, b] = aligned([
      { times: [1, 3], values: [10, 30] },
      { times: [2, 3], values: [5, 6] },
    ]);
    expect([times, a, b]).toEqual([
      [1, 2, 3],
      [10, null, 30],
      [null, 5, 6],
    ]);
  });

  it("are added up for the processes beyond the largest", () => {
    const profile = profileOf((raw) => {
      for (let i = 1; i < 5; i++) {
        raw.processes.push({ ...raw.processes[0], pid: 42 + i });
        for (const k of [0, 1]) raw.snapshots.push({ ...raw.snapshots[k], process: i });
      }
    });
    const curves = processCurves(profile, [0, 1, 2, 3, 4], null, liveBytes, 3);
    expect(curves.map((curve) => curve.name)).toEqual([
      "sample (pid 42)",
      "sample (pid 43)",
      "3 others",
    ]);
    expect(valueAt(curves[2], 2000)).toBe(360);
  });
});

describe("counters", () => {
  const track = (name: string, unit: RawTrack["unit"], steps: number[], value: number[]) => ({
    file: 0,
    process: name.startsWith("psi") ? null : 0,
    pid: name.startsWith("psi") ? null : 42,
    name,
    unit,
    count: steps.length,
    time_ms: steps,
    value,
  });
  const profile = profileOf((raw) => {
    raw.tracks = [
      ...raw.tracks,
      track("runtime.user_ns", "ns", [0, 2000], [5e8, 1e9]),
      track("page_faults.minor", "count", [0, 1000], [100, 50]),
      track("psi.mem.some", "ns", [0, 1000], [7e9, 5e8]),
    ];
  });
  const counters = countersOf(countersByProcess(profile, 0), 0);
  const find = (name: string) => counters.find((each) => each.name === name)!;

  it("hold their last value to the end of the process", () => {
    const { curve, unit } = find("mem.rss");
    expect([curve.times, curve.values, unit]).toEqual([
      [0, 1000, 2000],
      [4000, 4500, 5000],
      "bytes",
    ]);
  });

  it("that only rise are shown by what was added per second", () => {
    const { curve, unit } = find("runtime.user_ns");
    /* It was read at 1000, too: nothing had been added then. */
    expect([curve.times, curve.values, unit]).toEqual([[0, 1000, 2000], [0, 100, 100], "percent"]);
    const faults = find("page_faults.minor");
    expect([faults.curve.values, faults.unit]).toEqual([[50, 0, 0], "per second"]);
  });

  it("of the machine belong to every process", () => {
    expect(find("psi.mem.some").title).toMatch(/^Machine: Memory pressure/);
    expect(find("psi.mem.some").curve.values).toEqual([50, 50]);
    expect(countersOf(countersByProcess(profile, 0), null).map((each) => each.name)).toEqual([
      "psi.mem.some",
    ]);
    expect(defaultCounters(counters)).toEqual(["psi.mem.some", "runtime.user_ns"]);
  });
});

describe("counters of all processes", () => {
  const profile = profileOf((raw) => {
    const base = raw.processes[0];
    raw.processes.push({ ...base, pid: 43, start_ms: 500, end_ms: 1500 });
    const of = (process: number, name: string, time_ms: number[], value: number[]) => ({
      ...{ file: 0, process, pid: 42 + process, name, unit: "bytes" as const },
      ...{ count: time_ms.length, time_ms, value },
    });
    raw.tracks = [
      of(0, "mem.rss", [0, 1000], [100, 50]),
      of(1, "mem.rss", [600, 400], [10, 10]),
      of(0, "mem.rss.watermark", [0], [100]),
      { ...of(0, "runtime.user_ns", [0, 1000], [0, 1e9]), unit: "ns" as const },
      { ...of(1, "runtime.user_ns", [600, 400], [0, 1e8]), unit: "ns" as const },
      { ...of(0, "psi.mem.some", [0, 1000], [0, 5e8]), process: null, pid: null, unit: "ns" },
    ];
  });
  const added = addedCounters(countersByProcess(profile, 0), [0, 1]);

  it("are added up where that means something; each process counts while it lives", () => {
    expect(added.map(({ title }) => title)).toEqual([
      "Resident memory, 2 processes added up",
      "CPU time in the program, 2 processes added up",
      "Machine: Memory pressure: some tasks waited",
    ]);
    const [rss, cpu] = added.map(({ curve }) => curve);
    const at = (times: number[]) => times.map((time) => valueAt(rss, time));
    expect(at([0, 599, 600, 1000, 1499, 1500])).toEqual([100, 100, 110, 170, 170, 150]);
    expect([0, 600, 999].map((time) => valueAt(cpu, time))).toEqual([100, 125, 125]);
  });

  it("are shown beside the live memory of all processes", () => {
    const address = parseAddress("");
    const picture = pictureOf(profile, selectionOf(profile, address), address);
    expect([picture.process, picture.rss?.name]).toEqual([null, added[0].title]);
  });
});

describe("a range", () => {
  const whole = { from: 0, to: 1000 };

  it("is chosen by Shift and the arrows, end by end", () => {
    const half = { from: 200, to: 700 };
    const of = (key: string) => rangeOfKey(key, half, whole, true);
    expect(of("ArrowRight")).toEqual({ from: 200, to: 750 });
    expect(of("ArrowLeft")).toEqual({ from: 200, to: 650 });
    expect(of("ArrowUp")).toEqual({ from: 250, to: 700 });
    expect(of("ArrowDown")).toEqual({ from: 150, to: 700 });
    expect(rangeOfKey("ArrowDown", whole, whole, true)).toEqual(whole);
    expect(rangeOfKey("+", half, whole, true)).toEqual({ from: 325, to: 575 });
  });

  it("stands in the address unless it is the whole", () => {
    expect(rangeText(whole, whole)).toBeNull();
    expect(rangeText({ from: 100, to: 250.5 }, whole)).toBe("100-250.5");
    expect(parseRange("100-250.5", whole)).toEqual({ from: 100, to: 250.5 });
  });

  it.each([[null], [""], ["x-y"], ["5"], ["300-200"], ["2000-3000"], ["1e9-2"], ["--"]])(
    "that nobody wrote is the whole: %s",
    (text) => expect(parseRange(text, whole)).toEqual(whole),
  );

  it("is cut to the whole", () => {
    expect(parseRange("-500-300", whole)).toEqual({ from: 0, to: 300 });
  });

  it("is zoomed about its middle or another time", () => {
    expect(zoomed(whole, whole, 0.5)).toEqual({ from: 250, to: 750 });
    expect(zoomed({ from: 0, to: 400 }, whole, 0.5, 0)).toEqual({ from: 0, to: 200 });
    expect(zoomed({ from: 250, to: 750 }, whole, 4)).toEqual(whole);
    const least = { from: 500, to: 500.01 };
    expect(zoomed(least, whole, 0.5)).toEqual(least);
  });

  it("stops at the ends", () => {
    const range = { from: 100, to: 300 };
    expect(moved(range, whole, 0.5)).toEqual({ from: 200, to: 400 });
    expect(moved(range, whole, -0.2)).toEqual({ from: 60, to: 260 });
    expect(moved(range, whole, -5)).toEqual({ from: 0, to: 200 });
    expect(rangeOfKey("End", range, whole)).toEqual({ from: 800, to: 1000 });
    expect(rangeOfKey("0", range, whole)).toEqual(whole);
    expect(rangeOfKey("x", range, whole)).toBeNull();
  });
});

it.each([
  [0, 1000, "0 s"],
  [2000, 1000, "2 s"],
  [2500, 500, "2.5 s"],
  [350, 50, "350 ms"],
  [0.25, 0.05, "0.25 ms"],
  [90_000, 30_000, "1 min 30 s"],
  [120_000, 60_000, "2 min"],
  [7_200_000, 3_600_000, "2 h"],
])("%s ms in steps of %s is %s", (ms, step, text) => expect(timeTick(ms, step)).toBe(text));

describe("marks", () => {
  const profile = profileOf((raw) => {
    raw.snapshots = [
      { ...raw.snapshots[0], name: "loaded" },
      { ...raw.snapshots[1], peak: { bytes: 2048, count: 3 }, peak_time_ms: 1500 },
    ];
    raw.changes = [
      {
        process: 0,
        time_ms: 500,
        from_bytes: 1,
        to_bytes: 2,
        reason: "memory",
        text: "sampling interval raised",
      },
    ];
  });

  it("are in the order of time; losses have none", () => {
    const report = { losses: [{ pid: 42, count: 12, text: "samples lost", is_serious: true }] };
    const marks = marksOf(profile, [0], [0], report as never);
    expect(marks.map(({ kind, timeMs, text }) => [kind, timeMs, text])).toEqual([
      ["interval", 500, "sampling interval raised"],
      ["name", 1000, "snapshot “loaded”"],
      ["peak", 1500, "the peak: 2.00 KiB were live"],
      ["loss", null, "samples lost (12)"],
    ]);
  });

  it("of a peak say whose it is, where heaps were chosen", () => {
    const chosen = profileOf((raw) => {
      const peak = { bytes: 0, count: 0 };
      raw.snapshots[1] = { ...raw.snapshots[1], is_peak_of_all_heaps: true, peak_time_ms: 1500 };
      raw.snapshots[1] = { ...raw.snapshots[1], peak: { ...peak, bytes: 64 } };
    });
    const [mark] = marksOf(chosen, [0], [0], null).filter(({ kind }) => kind === "peak");
    expect(mark.text).toBe("the peak of all heaps: 64 B were live");
  });

  it("of losses have their time, where it is known", () => {
    const timed = profileOf((raw) => {
      const base = { process: 0, name: "table_full", is_serious: true };
      raw.loss_times = [
        { ...base, from_ms: 100, to_ms: 350, count: 4, text: "samples lost: 4" },
        { ...base, from_ms: 900, to_ms: 900, count: 3, text: "samples lost: 3" },
      ];
    });
    const loss = (name: string, count: number) => ({ pid: 42, name, count, text: name });
    const losses = [loss("table_full", 9), loss("stack_empty", 2)];
    const of = (report: object) =>
      marksOf(timed, [0], [], report as never).filter(({ kind }) => kind === "loss");
    expect(of({ losses }).map(({ timeMs, untilMs, text }) => [timeMs, untilMs, text])).toEqual([
      [100, 350, "samples lost: 4"],
      [900, undefined, "samples lost: 3"],
      [null, undefined, "table_full (2)"],
      [null, undefined, "stack_empty (2)"],
    ]);
    const all = of({ losses: [loss("table_full", 7)] });
    expect(all.map(({ timeMs }) => timeMs)).toEqual([100, 900]);
    expect(markTime(all[0], 50)).toBe("50.0 ms to 300 ms");
  });

  it("of other processes are not there", () => {
    const report = { losses: [{ pid: 7, count: 12, text: "samples lost", is_serious: true }] };
    expect(marksOf(profile, [0], [], report as never).map((mark) => mark.kind)).toEqual([
      "interval",
      "name",
    ]);
  });
});

describe("processes", () => {
  const profile = profileOf((raw) => {
    const base = raw.processes[0];
    const executed = "executed another program";
    raw.processes.push(
      { ...base, pid: 50, ppid: 42, start_ms: 100, end: executed },
      { ...base, pid: 50, ppid: 42, start_ms: 200 },
      { ...base, pid: 60, ppid: 50, start_ms: 300 },
      /* A later process has the number of the first one's child again. */
      { ...base, pid: 50, ppid: 1, start_ms: 900 },
    );
  });

  it("stand below those that started them", () => {
    expect(treeOf(profile, 0)).toEqual([
      { process: 0, depth: 0 },
      { process: 1, depth: 1 },
      { process: 2, depth: 2 },
      { process: 3, depth: 3 },
      { process: 4, depth: 0 },
    ]);
  });

  it("have the most memory that a snapshot shows", () => {
    expect([mostLive(profile, 0), mostLive(profile, 3)]).toEqual([120, null]);
  });

  it("stand once each, even where they would be their own ancestors", () => {
    const strange = profileOf((raw) => {
      raw.processes[0].ppid = 43;
      raw.processes.push({ ...raw.processes[0], pid: 43, ppid: 42 });
    });
    expect(
      treeOf(strange, 0)
        .map((row) => row.process)
        .sort(),
    ).toEqual([0, 1]);
  });
});

describe("the picture", () => {
  const pictureFor = (fragment: string, change?: (raw: Raw) => void) => {
    const profile = profileOf(change);
    const address = parseAddress(fragment);
    return pictureOf(profile, selectionOf(profile, address), address);
  };

  it("is of the only process", () => {
    const picture = pictureFor("");
    expect(picture).toMatchObject({ process: 0, snapshots: [0, 1], origin: 0 });
    expect(picture.rss?.values).toEqual([4000, 4500, 5000]);
    expect(picture.whole).toEqual({ from: -20, to: 2020 });
  });

  it("has no resident memory beside numbers of objects", () => {
    expect(pictureFor("#measure=objects").rss).toBeNull();
  });

  it("has the live memory between the snapshots, alone where there is one snapshot", () => {
    const withLive = (raw: Raw) => {
      raw.tracks = [...raw.tracks, { ...raw.tracks[0], name: "heap.live" }];
    };
    const two = pictureFor("", withLive);
    expect([two.live?.values, two.curves.length]).toEqual([[4000, 4500, 5000], 1]);
    const alone = pictureFor("", (raw) => {
      withLive(raw);
      raw.snapshots[1] = { ...raw.snapshots[1], time_ms: null };
    });
    expect([alone.live?.values, alone.curves.length]).toEqual([[4000, 4500, 5000], 0]);
  });

  it("has no live memory of all heaps beside objects, all allocations or one heap", () => {
    const withLive = (raw: Raw) => {
      raw.tracks = [...raw.tracks, { ...raw.tracks[0], name: "heap.live" }];
    };
    for (const fragment of ["#measure=objects", "#measure=alloc_space", "#heap=1"]) {
      expect([fragment, pictureFor(fragment, withLive).live]).toEqual([fragment, null]);
    }
  });

  it("is of all processes, or of the chosen one", () => {
    const two = (raw: Raw) => {
      raw.processes.push({ ...raw.processes[0], pid: 43, start_ms: 500 });
      raw.snapshots.push({ ...raw.snapshots[0], process: 1 });
    };
    expect(pictureFor("", two)).toMatchObject({ process: null, processes: [0, 1], origin: 0 });
    expect(pictureFor("#process=1", two)).toMatchObject({
      process: 1,
      snapshots: [2],
      origin: 500,
    });
    expect(pictureFor("#process=77", two).process).toBeNull();
  });

  it("needs times", () => {
    expect(hasTimes(profileOf())).toBe(true);
    const timeless = profileOf((raw) => {
      raw.tracks = [];
      raw.snapshots = raw.snapshots.map((each) => ({ ...each, time_ms: null }));
    });
    expect(hasTimes(timeless)).toBe(false);
  });
});
