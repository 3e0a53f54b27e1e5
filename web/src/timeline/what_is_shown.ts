/*
 * What the timeline shows of a profile: which processes of which file, its curves, its whole range
 * of time.
 */
import type { Amount } from "../data/documents.ts";
import type { Measure } from "../data/measures.ts";
import { LIVE_TRACK, RSS_TRACK } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import type { Selection } from "../data/selection.ts";
import type { Address } from "../state.ts";
import { addedCounters, countersByProcess, countersOf, type Counter } from "./counters.ts";
import { heapCurves, processCurves, snapshotsOf, timeOf, type Curve } from "./curves.ts";
import type { Range } from "./range.ts";

/* Processes with a curve of their own; the rest is one curve. There are so many colours. */
const PROCESSES_MOST = 8;
const HEAPS_MOST = 8;

export interface Picture {
  file: number;
  /* null: all processes of the file */
  process: number | null;
  processes: readonly number[];
  /* Snapshots with a time, of all these processes, in the order of time. */
  snapshots: readonly number[];
  curves: readonly Curve[];
  /* Live memory of all heaps of these processes, also between the snapshots, if it was recorded and
   * belongs into the chart. Of one process with one snapshot, there are no curves beside it. */
  live: Curve | null;
  /* Resident memory of the one process, or of all of them added up, if it was recorded. */
  rss: Curve | null;
  counters: readonly Counter[];
  whole: Range;
  /* The time that is called 0: the start of the process, or of the file. */
  origin: number;
}

function numberOf(text: string | null, limit: number): number | null {
  return text !== null && /^\d+$/.test(text) && Number(text) < limit ? Number(text) : null;
}

/* The processes of a file that have snapshots with a time, or counters. */
export function processesOf(profile: Profile, file: number): number[] {
  const known = new Set<number>();
  for (const snapshot of profile.snapshots) {
    if (snapshot.time_ms !== null) known.add(snapshot.process);
  }
  for (const track of profile.tracks) if (track.process !== null) known.add(track.process);
  return profile.processes.map((_, i) => i).filter((i) => isOf(profile, i, file) && known.has(i));
}

function isOf(profile: Profile, process: number, file: number): boolean {
  return profile.processes[process].file === file;
}

/* Whether there is anything to draw over time. */
export function hasTimes(profile: Profile): boolean {
  return profile.files.some((_, file) => processesOf(profile, file).length > 0);
}

export function pickOf(measure: Measure): (of: { live: Amount; alloc: Amount }) => number {
  const quantity = measure.quantity === "alloc" ? "alloc" : "live";
  return measure.isCount ? (of) => of[quantity].count : (of) => of[quantity].bytes;
}

/* What the vertical axis counts, in words: there is no peak at a moment. */
export function measureWords(measure: Measure): string {
  return measure.quantity === "peak" ? "Live memory" : measure.title;
}

function rssOf(
  profile: Profile,
  process: number | null,
  counters: readonly Counter[],
): Curve | null {
  const counter = counters.find((each) => each.name === RSS_TRACK && !each.isOfMachine);
  if (counter) return { ...counter.curve, name: counter.title };
  if (process === null) return null;
  const known = snapshotsOf(profile, process).filter(
    (i) => profile.snapshots[i].rss_bytes !== null,
  );
  if (known.length === 0) return null;
  return {
    key: RSS_TRACK,
    name: "Resident memory",
    times: known.map((i) => timeOf(profile.snapshots[i])),
    values: known.map((i) => profile.snapshots[i].rss_bytes ?? 0),
    isStep: false,
  };
}

function liveOf(selection: Selection, counters: readonly Counter[]): Curve | null {
  const { measure, heap } = selection;
  if (measure.isCount || measure.quantity === "alloc" || heap !== null) return null;
  const counter = counters.find((each) => each.name === LIVE_TRACK && !each.isOfMachine);
  return counter ? { ...counter.curve, name: counter.title } : null;
}

function wholeOf(profile: Profile, shown: Omit<Picture, "whole" | "origin">): Range {
  const process = shown.process === null ? null : profile.processes[shown.process];
  const times = shown.snapshots.map((i) => timeOf(profile.snapshots[i]));
  for (const counter of shown.counters) {
    if (counter.isOfMachine) continue;
    const { times: own } = counter.curve;
    if (own.length > 0) times.push(own[0], own[own.length - 1]);
  }
  const start = process ? process.start_ms : 0;
  const end = process ? process.end_ms : profile.files[shown.file].end_ms;
  if (start !== null) times.push(start);
  if (end !== null) times.push(end);
  const from = Math.min(...times);
  const to = Math.max(...times);
  if (!Number.isFinite(from)) return { from: 0, to: 1000 };
  /* So that a snapshot at the very end is not cut in half. */
  const room = Math.max((to - from) * 0.01, 0.5);
  return { from: from - room, to: to + room };
}

export function pictureOf(profile: Profile, selection: Selection, address: Address): Picture {
  const asked = numberOf(address.get("process"), profile.processes.length);
  const file =
    asked === null
      ? (numberOf(address.get("timeline.file"), profile.files.length) ?? 0)
      : profile.processes[asked].file;
  const all = processesOf(profile, file);
  const process = asked !== null && all.includes(asked) ? asked : all.length === 1 ? all[0] : null;
  const processes = process === null ? all : [process];
  const pick = pickOf(selection.measure);
  const byProcess = countersByProcess(profile, file);
  const counters =
    process === null ? addedCounters(byProcess, processes) : countersOf(byProcess, process);
  const snapshots = processes
    .flatMap((each) => snapshotsOf(profile, each))
    .sort((a, b) => timeOf(profile.snapshots[a]) - timeOf(profile.snapshots[b]));
  const live = liveOf(selection, counters);
  const isAlone = process !== null && live !== null && snapshots.length < 2;
  const shown = {
    file,
    process,
    processes,
    snapshots,
    curves: isAlone
      ? []
      : process === null
        ? processCurves(profile, processes, selection.heap, pick, PROCESSES_MOST, (each) =>
            liveOf(selection, countersOf(byProcess, each)),
          )
        : heapCurves(profile, process, selection.heap, pick).slice(0, HEAPS_MOST),
    live,
    rss: selection.measure.isCount ? null : rssOf(profile, process, counters),
    counters,
  };
  const whole = wholeOf(profile, shown);
  const start = process === null ? 0 : profile.processes[process].start_ms;
  return { ...shown, whole, origin: start ?? whole.from };
}
