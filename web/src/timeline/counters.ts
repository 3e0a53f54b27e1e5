/*
 * Counters over time: resident memory, pressure, CPU time and others, as curves with a title and a
 * unit that a reader understands.
 *
 * A counter that only ever rises (CPU time, page faults, time in which tasks waited) is shown as
 * what was added per second.
 */
import { LIVE_TRACK, RSS_TRACK } from "../data/names.ts";
import type { Profile, Track } from "../data/profile.ts";
import { sumOfSteps, type Steps } from "../data/steps.ts";
import { bytes, count } from "../format.ts";
import type { Curve } from "./curves.ts";

export interface Counter {
  /* The name of its track; a counter of the machine has the same name in each process. */
  name: string;
  title: string;
  /* What the values are: bytes, a share of time in percent, a number, a number per second. */
  unit: "bytes" | "percent" | "count" | "per second";
  isOfMachine: boolean;
  curve: Curve;
}

const TITLES: Readonly<Record<string, string>> = {
  [LIVE_TRACK]: "Live memory of all heaps",
  [RSS_TRACK]: "Resident memory",
  "mem.rss.anon": "Resident anonymous memory",
  "mem.rss.file": "Resident pages of files",
  "mem.rss.shmem": "Resident shared memory",
  "mem.rss.watermark": "Highest resident memory so far",
  "mem.virt": "Address space",
  "mem.swap": "Swapped out",
  "mem.locked": "Locked memory",
  "mem.smaps.rss": "Resident memory (from the mappings)",
  "mem.smaps.pss": "Proportional memory (PSS)",
  "mem.smaps.pss.anon": "Proportional anonymous memory",
  "mem.smaps.pss.file": "Proportional pages of files",
  "mem.smaps.pss.shmem": "Proportional shared memory",
  "mem.smaps.swap.pss": "Proportional swapped memory",
  "runtime.user_ns": "CPU time in the program",
  "runtime.kernel_ns": "CPU time in the kernel",
  "page_faults.minor": "Page faults without reading",
  "page_faults.major": "Page faults with reading",
  num_threads: "Threads",
  oom_score_adj: "Adjustment of the out-of-memory score",
  "psi.mem.some": "Memory pressure: some tasks waited",
  "psi.mem.full": "Memory pressure: all tasks waited",
  "psi.cpu.some": "CPU pressure: some tasks waited",
  "psi.cpu.full": "CPU pressure: all tasks waited",
  "psi.io.some": "I/O pressure: some tasks waited",
  "psi.io.full": "I/O pressure: all tasks waited",
  MemAvailable: "Available memory",
  MemFree: "Free memory",
};

export const MEMORY_PRESSURE = "psi.mem.some";

function isRising(track: Track): boolean {
  return track.unit === "ns" || track.name.startsWith("page_faults.");
}

/*
 * What was added per second, as steps: each value holds from the reading before to its own. Where a
 * counter was not written, it did not change, which shows when the next value comes: then what was
 * added belongs to the time since `readings` says that it was last read.
 */
function ratesOf(track: Track, readings: readonly number[], scale: number): Curve {
  const times: number[] = [];
  const values: number[] = [];
  let at = 0;
  for (let i = 1; i < readings.length; i++) {
    const start = at;
    while (at + 1 < track.timeMs.length && track.timeMs[at + 1] <= readings[i]) at++;
    const span = readings[i] - readings[i - 1];
    if (span <= 0 || readings[i - 1] < track.timeMs[0]) continue;
    times.push(readings[i - 1]);
    values.push((Math.max(0, track.value[at] - track.value[start]) * scale) / span);
  }
  const end = readings[readings.length - 1];
  if (values.length > 0) {
    times.push(end);
    values.push(values[values.length - 1]);
  }
  return { key: track.name, name: track.name, times, values, isStep: true };
}

/* All times at which one of these counters was written. */
function readingsOf(tracks: readonly Track[]): number[] {
  const times = new Set<number>();
  for (const track of tracks) for (const time of track.timeMs) times.add(time);
  return [...times].sort((a, b) => a - b);
}

function counterOf(profile: Profile, track: Track, readings: readonly number[]): Counter {
  const isOfMachine = track.process === null && track.pid === null;
  const title = (isOfMachine ? "Machine: " : "") + (TITLES[track.name] ?? track.name);
  const base = { name: track.name, title, isOfMachine };
  if (track.unit === "ns") {
    /* ns per ms are millionths; 100 of a whole are percent. */
    return { ...base, unit: "percent", curve: ratesOf(track, readings, 100 / 1e6) };
  }
  if (isRising(track)) {
    return { ...base, unit: "per second", curve: ratesOf(track, readings, 1000) };
  }
  const curve = heldTo(track, endOf(profile, track));
  return { ...base, unit: track.unit === "bytes" ? "bytes" : "count", curve };
}

function endOf(profile: Profile, track: Track): number {
  const fileEnd = profile.files[track.file]?.end_ms ?? 0;
  const process = track.process === null ? undefined : profile.processes[track.process];
  return process?.end_ms ?? fileEnd;
}

/* The last value holds to the end of the process. */
function heldTo(track: Track, end: number): Curve {
  const times = [...track.timeMs];
  const values = [...track.value];
  if (times.length > 0 && times[times.length - 1] < end) {
    times.push(end);
    values.push(values[values.length - 1]);
  }
  return { key: track.name, name: track.name, times, values, isStep: true };
}

/* The counters of each process of a file, and (null) of the machine, in the order of the file. */
type CountersByProcess = ReadonlyMap<number | null, readonly Counter[]>;

export function countersByProcess(profile: Profile, file: number): CountersByProcess {
  const tracks = new Map<number | null, Track[]>();
  for (const track of profile.tracks) {
    const isKnown = track.process !== null || track.pid === null;
    if (track.file !== file || track.timeMs.length === 0 || !isKnown) continue;
    let list = tracks.get(track.process);
    if (!list) tracks.set(track.process, (list = []));
    list.push(track);
  }
  const counters = [...tracks].map(([process, list]): [number | null, Counter[]] => {
    const readings = readingsOf(list);
    return [process, list.map((track) => counterOf(profile, track, readings))];
  });
  return new Map(counters);
}

/* The counters of a process (null: of none) and of the machine. */
export function countersOf(all: CountersByProcess, process: number | null): Counter[] {
  const own = process === null ? [] : (all.get(process) ?? []);
  return [...own, ...(all.get(null) ?? [])];
}

/* What a sum over processes would not mean: the largest of all, and a setting of each. */
const NOT_ADDED = ["mem.rss.watermark", "oom_score_adj"];

/*
 * The sum of counters of processes; each counts from its first value to its last one, which is the
 * end of its process. Those that last longest count to the end.
 */
function sumOf(counters: readonly Counter[]): Steps {
  const ends = counters.map(({ curve }) => curve.times[curve.times.length - 1]);
  const last = Math.max(...ends);
  const parts = counters.map(({ curve }, i) => ({
    steps: curve,
    end: ends[i] < last ? ends[i] : null,
  }));
  const { times, values } = sumOfSteps(parts);
  if (counters[0].unit === "bytes") return { times, values };
  /* Rates are fractions, whose sum need not come back to 0 exactly. */
  return { times, values: values.map((value) => Math.max(0, Math.round(value * 1e6) / 1e6)) };
}

/* The counters of these processes of a file, added up, and those of the machine. */
export function addedCounters(all: CountersByProcess, processes: readonly number[]): Counter[] {
  const byName = new Map<string, Counter[]>();
  for (const counter of processes.flatMap((process) => all.get(process) ?? [])) {
    if (NOT_ADDED.includes(counter.name) || counter.curve.times.length === 0) continue;
    let list = byName.get(counter.name);
    if (!list) byName.set(counter.name, (list = []));
    list.push(counter);
  }
  const sums = [...byName.values()].map((list) => {
    const title =
      list.length === 1
        ? `${list[0].title}, of one process`
        : `${list[0].title}, ${list.length} processes added up`;
    const curve = { ...list[0].curve, name: title, ...sumOf(list), isStep: true };
    return { ...list[0], title, curve };
  });
  return [...sums, ...(all.get(null) ?? [])];
}

/* The counters that are shown unless the reader chooses others. */
export function defaultCounters(counters: readonly Counter[]): string[] {
  const wanted = [MEMORY_PRESSURE, "runtime.user_ns"];
  return wanted.filter((name) => counters.some((counter) => counter.name === name));
}

export function percent(value: number | null): string {
  return value === null ? "not recorded" : `${value.toFixed(value < 10 ? 1 : 0)} %`;
}

export function formatOf(counter: Counter): (value: number) => string {
  switch (counter.unit) {
    case "bytes":
      return bytes;
    case "percent":
      return percent;
    case "per second":
      return (value) => `${count(value)} per second`;
    case "count":
      return count;
  }
}
