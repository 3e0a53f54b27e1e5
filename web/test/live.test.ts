/*
 * What the live page computes: messages, settings, lists, and the figures of a watched process.
 */
import { describe, expect, it } from "vitest";

import { errorOf, sentence } from "../src/data/server.ts";
import { fileKey } from "../src/data/served_files.ts";
import { recordingOf, recordingsOf, type Sessions } from "../src/live/answers.ts";
import { sizeTick, timeTick } from "../src/live/ticks.ts";
import { matches, reasonOf, shownProcesses } from "../src/live/machine_rows.ts";
import { Series } from "../src/live/series.ts";
import { queryOf, settingsOf } from "../src/live/settings.ts";
import { topRows, typeName } from "../src/live/top_rows.ts";
import { EventReader, type WatchUpdate } from "../src/live/watch_events.ts";
import type { LedgerLine } from "../src/data/documents.ts";
import { partsOf } from "../src/live/watch_ledger.tsx";
import { WatchState } from "../src/live/watch_state.ts";

describe("errors of the server", () => {
  it("say what happened, and what to do", () => {
    const error = errorOf(409, "1 (init): the kernel forbids it\nrun heapscope as root");
    expect(error.message).toBe("1 (init): the kernel forbids it.");
    expect(error.next).toBe("Run heapscope as root.");
    expect(errorOf(503, "").next).toMatch(/Close other pages/);
    expect(errorOf(409, "bad\u001b[31m").message).toBe("bad␛[31m.");
  });

  it("are sentences", () => {
    expect(sentence("there is no such file")).toBe("There is no such file.");
    expect(sentence("--interval: '4x' is no size")).toBe("--interval: '4x' is no size.");
    expect(sentence("Really?")).toBe("Really?");
    expect(sentence("")).toBe("");
  });
});

describe("files", () => {
  const file = (number: number, isGiven: boolean) => ({
    file: number,
    name: "a",
    path: "/a",
    is_given: isGiven,
    is_complete: true,
  });

  it("are those of the command line, unless the address names others", () => {
    expect(fileKey(null, [file(0, true), file(1, true), file(2, false)])).toBe("0,1");
    expect(fileKey("2", [file(0, true)])).toBe("2");
    expect(fileKey(null, [file(0, false)])).toBeNull();
    expect(fileKey("../etc", [file(0, true)])).toBe("0");
  });
});

describe("settings", () => {
  const process = { pid: 7, name: "", isAll: false };

  it("are those that were changed", () => {
    const values = { interval: " 64K ", blocks: true, smaps: false, "dump-every": "" };
    expect(settingsOf(process, values, true)).toEqual({ pid: [7], interval: "64K", blocks: true });
    expect(queryOf(settingsOf(process, values, true))).toBe("pid=7&interval=64K&blocks=true");
  });

  it("leave out what only a daemon does, and what is for names", () => {
    const values = { session: "a", "min-memory": "1M", "no-running": true };
    expect(settingsOf(process, values, false)).toEqual({ pid: [7] });
    expect(settingsOf(process, values, true)).toEqual({ pid: [7], session: "a" });
    const byName = { pid: null, name: " nginx ", isAll: false };
    expect(settingsOf(byName, values, true)).toEqual({ name: "nginx", ...values });
    expect(settingsOf({ ...byName, isAll: true }, {}, true)).toEqual({ all: true });
  });
});

describe("processes", () => {
  const make = (pid: number, name: string, rss: number, more = {}) => ({
    pid,
    name,
    uid: 0,
    rss_bytes: rss,
    swap_bytes: 0,
    ...more,
  });
  const all = [make(3, "b", 10), make(1, "a", 30, { eligible: false }), make(2, "c", 20)];
  const choice = { filter: "", sort: "memory" as const, isRising: false, isAble: false };
  const totals = new Map([
    [2, 500],
    [3, 700],
  ]);
  const pids = (change: object) =>
    shownProcesses(all, { ...choice, ...change }, totals).map((p) => p.pid);

  it("are sorted and filtered", () => {
    expect(pids({})).toEqual([1, 2, 3]);
    expect(pids({ isRising: true })).toEqual([3, 2, 1]);
    expect(pids({ sort: "name", isRising: true })).toEqual([1, 3, 2]);
    expect(pids({ sort: "live" })).toEqual([3, 2, 1]);
    expect(pids({ sort: "live", isRising: true })).toEqual([1, 2, 3]);
    expect(pids({ isAble: true })).toEqual([2, 3]);
    expect(pids({ filter: "c" })).toEqual([2]);
    expect(matches(make(5, "python3", 1, { command: "python3 Work.py" }), "work 5")).toBe(true);
    expect(matches(make(5, "python3", 1), "work")).toBe(false);
  });

  it("say why they cannot be recorded", () => {
    const what = (text: string) => reasonOf(make(9, "x y", 1, { what: text }));
    expect(what("9 (x y) is heapscope itself")).toBe("It is heapscope itself.");
    expect(what("9 (x y): the kernel forbids it")).toBe("The kernel forbids it.");
    expect(what("there is no process 9")).toBe("There is no process 9.");
  });
});

describe("recordings", () => {
  const session = (name: string, start: number) => ({ session: name, start_real_ns: start });
  const client = (pid: number, name: string | null) => ({ pid, session: name, is_dormant: !name });
  const list = {
    daemon: { pid: 1 },
    sessions: [session("1", 5), { ...session("0", 7), state: "done" }],
    clients: [client(10, "1"), client(11, null)],
    other_daemons: [],
    recordings: [
      {
        pid: 2,
        command: "attach",
        sessions: [session("attach.2", 9)],
        clients: [client(12, "attach.2")],
      },
    ],
  } as unknown as Sessions;

  it("are of the daemon and of commands, the youngest first", () => {
    expect(recordingsOf(list).map((each) => [each.by, each.session.session])).toEqual([
      ["heapscope attach", "attach.2"],
      ["heapscoped", "1"],
    ]);
    expect(recordingOf(list, 12)?.session.session).toBe("attach.2");
    expect(recordingOf(list, 10)?.by).toBe("heapscoped");
    expect(recordingOf(list, 11)).toBeNull();
  });
});

describe("events", () => {
  it("are read from pieces of any size", () => {
    const text = ':\n\nevent: update\ndata: {"a":1}\n\nevent: end\ndata: {}\n\n';
    for (const size of [1, 3, 7, 100]) {
      const reader = new EventReader();
      const events = [];
      for (let i = 0; i < text.length; i += size)
        events.push(...reader.take(text.slice(i, i + size)));
      expect(events).toEqual([
        { event: "update", data: '{"a":1}' },
        { event: "end", data: "{}" },
      ]);
    }
  });
});

/* main -> work (heap 0), main -> other (heap 1, carved) */
function update(number: number, timeMs: number, bytes: number, more: Partial<WatchUpdate> = {}) {
  return {
    number,
    time_ms: timeMs,
    interval_ms: 1000,
    look_cpu_ms: 1,
    has_more: false,
    process: { live_bytes: bytes, alloc_bytes: 2 * bytes, rss_bytes: 5 },
    heaps: [{ name: "libc.malloc" }, { name: "arena", is_carved: true }],
    strings: [],
    frames: { id: [], function: [], module: [], class: [] },
    nodes: { caller: [], frame: [] },
    stacks: { id: [], heap: [], node: [] },
    types: { stack: [], type: [], live_bytes: [], live_count: [] },
    rows: {
      stack: [200],
      live_bytes: [bytes],
      live_count: [1],
      alloc_bytes: [2 * bytes],
      alloc_count: [2],
    },
    ...more,
  } as unknown as WatchUpdate;
}

const FIRST: Partial<WatchUpdate> = {
  strings: ["main", "work", "other", "/usr/bin/app"],
  frames: { id: [0, 1, 2], function: [0, 1, 2], module: [3, 3, 3], class: [0, 0, 0] },
  /* The stacks are work, main, main, and other, main. */
  nodes: { caller: [0, 1, 2, 1], frame: [0, 0, 1, 2] },
  stacks: { id: [200, 3], heap: [0, 1], node: [3, 4] },
  rows: {
    stack: [200, 3],
    live_bytes: [1000, 70],
    live_count: [1, 1],
    alloc_bytes: [2000, 70],
    alloc_count: [2, 1],
  },
};

const stacksOf = (state: WatchState, filter = "") =>
  topRows(state, { kind: "stacks", heap: null, filter, sort: "live" }).rows;

describe("many stacks of a watched process", () => {
  /* Stack i has the frames i % 7 and 7, and i bytes. */
  const count = 1000;
  const ids = Array.from({ length: count }, (_, i) => i);
  const many = update(1, 1000, 0, {
    strings: ["a", "b", "c", "d", "e", "f", "g", "main", "/usr/bin/app"],
    frames: {
      id: [0, 1, 2, 3, 4, 5, 6, 7],
      function: [0, 1, 2, 3, 4, 5, 6, 7],
      module: Array(8).fill(8),
      class: Array(8).fill(0),
    },
    nodes: { caller: [0, 1, 1, 1, 1, 1, 1, 1], frame: [7, 0, 1, 2, 3, 4, 5, 6] },
    stacks: { id: ids, heap: ids.map(() => 0), node: ids.map((i) => 2 + (i % 7)) },
    rows: {
      stack: ids,
      live_bytes: ids,
      live_count: ids.map(() => 1),
      alloc_bytes: ids,
      alloc_count: ids.map(() => 1),
    },
  });

  it("give the largest rows, and count the others", () => {
    const state = new WatchState();
    state.take(many);
    const top = topRows(state, { kind: "stacks", heap: null, filter: "", sort: "live" });
    expect(top.rows.map((row) => row.id)).toEqual(ids.slice(-100).reverse());
    expect(top.leftOut).toBe(count - 1 - 100);
    const ofC = ids.filter((i) => i % 7 === 2).reverse();
    const found = topRows(state, { kind: "stacks", heap: null, filter: "C", sort: "live" });
    expect(found.rows.map((row) => row.id)).toEqual(ofC.slice(0, 100));
    expect(found.leftOut).toBe(ofC.length - 100);
    const sums = state.functions(null);
    expect(sums.find((row) => row.id === 7)!.liveBytes).toBe((count * (count - 1)) / 2);
    expect(sums.find((row) => row.id === 2)!.ownBytes).toBe(ofC.reduce((a, b) => a + b, 0));
  });
});

describe("types of a watched process", () => {
  const named = { ...FIRST, strings: [...FIRST.strings!, "Foo", "Bar"] };
  const typed = (stack: number[], type: number[], live_bytes: number[]) => ({
    types: { stack, type, live_bytes, live_count: live_bytes.map(Math.sign) },
  });
  const sums = (state: WatchState) =>
    Object.fromEntries(state.types(null).map((row) => [typeName(state, row.id), row.liveBytes]));

  it("are sums over stacks, with what has none", () => {
    const state = new WatchState();
    state.take(update(1, 1000, 1000, { ...named, ...typed([200, 200], [4, 5], [300, 200]) }));
    expect(sums(state)).toEqual({ Foo: 300, Bar: 200, "(unknown)": 500 });
    /* Those of a stack replace what it had; a row of nothing says that it has none. */
    state.take(update(2, 2000, 1000, typed([200], [5], [600])));
    expect(sums(state)).toEqual({ Bar: 600, "(unknown)": 400 });
    state.take(update(3, 3000, 1000, typed([200], [4], [0])));
    expect(sums(state)).toEqual({ "(unknown)": 1000 });
    expect(state.types(null)[0].allocBytes).toBeNaN();
  });

  it("grow", () => {
    const state = new WatchState();
    state.take(update(1, 1000, 1000, { ...named, ...typed([200], [4], [100]) }));
    state.take(update(2, 3000, 1000, typed([200], [4], [700])));
    const choice = { kind: "types", heap: null, filter: "fo", sort: "growth" } as const;
    const { rows } = topRows(state, choice);
    expect(rows.map((row) => [typeName(state, row.id), row.growth])).toEqual([["Foo", 300]]);
  });

  it("may be left out", () => {
    const state = new WatchState();
    state.take(update(1, 1000, 1000, { ...named, types: null }));
    expect(sums(state)).toEqual({ "(unknown)": 1000 });
  });
});

describe("the ledger of a watched process", () => {
  it("has parts, the largest first, with their lines", () => {
    const line = (part: string, rss_bytes: number) =>
      ({ part, rss_bytes, words: part }) as LedgerLine;
    const lines = [line("a", 1), line("b", 5), line("a", 3), line("c", 0)];
    const parts = partsOf({ rss_bytes: 9, pss_bytes: 9, unexplained_bytes: 0, lines });
    expect(parts.map(({ name, bytes }) => [name, bytes])).toEqual([
      ["b", 5],
      ["a", 4],
    ]);
    expect(parts[1].lines.map((each) => each.rss_bytes)).toEqual([3, 1]);
  });
});

describe("a watched process", () => {
  it("has sums by function, of heaps that the total contains", () => {
    const state = new WatchState();
    state.take(update(1, 1000, 1000, FIRST));
    const functions = state
      .functions(null)
      .map((row) => [state.text(row.id), row.liveBytes, row.ownBytes]);
    expect(functions).toEqual([
      ["work", 1000, 1000],
      ["main", 1000, 0],
    ]);
    expect(state.functions(1).map((row) => row.liveBytes)).toEqual([70, 70]);
    expect(stacksOf(state).map((row) => row.id)).toEqual([200]);
    expect(state.moduleName(0)).toBe("app");
    expect(state.rates()).toBeNull();
  });

  it("counts a stack once for a function that other frames turn out to have", () => {
    const state = new WatchState();
    state.take(update(1, 1000, 1000, FIRST));
    expect(state.functions(0).map((row) => [row.id, row.liveBytes])).toEqual([
      [1, 1000],
      [0, 1000],
    ]);
    const frames = { id: [1], function: [0], module: [3], class: [0] };
    state.take(update(2, 2000, 1000, { frames }));
    expect(state.functions(0).map((row) => [row.id, row.liveBytes])).toEqual([[0, 1000]]);
  });

  it("counts a stack for the function of the program that it is named after", () => {
    const classes = (...list: number[]) => {
      const state = new WatchState();
      const frames = { ...FIRST.frames!, class: list };
      state.take(update(1, 1000, 1000, { ...FIRST, frames }));
      const own = state.functions(null).filter((row) => row.ownBytes > 0);
      return own.map((row) => [state.text(row.id), row.ownBytes, state.headlineOf(200)]);
    };
    /* work allocates, or is of a library, for main */
    expect(classes(0, 3, 0)).toEqual([["main", 1000, 1]]);
    expect(classes(0, 1, 0)).toEqual([["main", 1000, 1]]);
    /* there is no function of the program: that of a runtime; then the innermost one */
    expect(classes(2, 3, 0)).toEqual([["main", 1000, 1]]);
    expect(classes(4, 3, 0)).toEqual([["work", 1000, 0]]);
  });

  it("grows by what was added in the last five to ten seconds", () => {
    const state = new WatchState();
    state.take(update(1, 1000, 1000, FIRST));
    state.take(update(2, 2000, 3000));
    expect(state.rates()).toEqual({ live: 2000, alloc: 4000 });
    expect(stacksOf(state)[0].growth).toBe(2000);
    for (let i = 3; i < 40; i++) state.take(update(i, i * 1000, 3000 + (i - 2) * 500));
    expect(state.rates()?.live).toBe(500);
    expect(state.functions(null)[0].growth).toBe(500);
    state.take(update(41, 41000, 0));
    expect(state.rates()?.live).toBeLessThan(0);
  });

  it("lists the largest", () => {
    const state = new WatchState();
    state.take(update(1, 1000, 1000, FIRST));
    const choice = { kind: "functions" as const, heap: null, filter: "", sort: "live" as const };
    const names = (change: object) =>
      topRows(state, { ...choice, ...change }).rows.map((row) => state.text(row.id));
    expect(names({})).toEqual(["main", "work"]);
    expect(names({ filter: "WOR" })).toEqual(["work"]);
    expect(topRows(state, { ...choice, kind: "stacks", filter: "main" }).rows).toHaveLength(1);
    expect(topRows(state, { ...choice, kind: "stacks", filter: "none" }).rows).toHaveLength(0);
  });

  it("has a limited number of points, and gaps", () => {
    const series = new Series();
    for (let i = 0; i < 10000; i++) series.add(i, i, 1);
    expect(series.times.length).toBeLessThanOrEqual(2400);
    expect(series.times.at(-1)).toBe(9999);
    expect(series.live.at(-1)).toBe(9999);
    series.add(9999, 1, 1); // not later
    expect(series.live.at(-1)).toBe(9999);
    series.gap();
    series.gap();
    expect(series.live.slice(-2)).toEqual([9999, null]);
    expect(new Set([series.times.length, series.live.length, series.rss.length]).size).toBe(1);
  });
});

it("ticks are short", () => {
  expect([0.5, 8, 90, 81.5, 119.96, 3725].map(timeTick)).toEqual([
    "0.5 s",
    "8 s",
    "1:30",
    "1:21.5",
    "2:00",
    "1:02:05",
  ]);
  expect([0, 1024, 48 * 1024 * 1024].map(sizeTick)).toEqual(["0 B", "1 KiB", "48 MiB"]);
});
