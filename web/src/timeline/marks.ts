/*
 * What happened, as marks on the timeline: the peak, named snapshots, changes of the sampling
 * interval, losses.
 */
import type { Report } from "../data/documents.ts";
import { processTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { bytes, cut, duration } from "../format.ts";
import { snapshotsOf, timeOf } from "./curves.ts";

export type MarkKind = "peak" | "name" | "interval" | "loss";

export interface Mark {
  key: string;
  kind: MarkKind;
  /* null: the file does not say when */
  timeMs: number | null;
  /* Of something that lasted, or happened at an unknown moment in between. */
  untilMs?: number;
  text: string;
  /* Of a peak: how many bytes lived. */
  bytes?: number;
}

/* Signs differ in shape: colour alone tells nothing. */
export const MARK_SIGNS: Readonly<Record<MarkKind, string>> = {
  peak: "▲",
  name: "⚑",
  interval: "⇕",
  loss: "!",
};

export const MARK_TITLES: Readonly<Record<MarkKind, string>> = {
  peak: "peak",
  name: "named snapshot",
  interval: "sampling interval changed",
  loss: "lost data",
};

interface Loss {
  pid?: number;
  name: string;
  text: string;
  count: number;
  is_serious: boolean;
}

function lossesOf(report: Report | null): Loss[] {
  const list: unknown = report?.["losses"];
  if (!Array.isArray(list)) return [];
  return list.filter(
    (each: unknown): each is Loss =>
      typeof each === "object" && each !== null && typeof (each as Loss).text === "string",
  );
}

const lossKey = (pid: number | undefined, name: string) => `${pid ?? ""} ${name}`;

/* The losses whose times are known. */
function timedLosses(profile: Profile, processes: readonly number[]): Mark[] {
  const marks: Mark[] = [];
  profile.lossTimes.forEach((time, i) => {
    if (!processes.includes(time.process) || time.from_ms === null) return;
    const mark: Mark = {
      key: `loss time ${i}`,
      kind: "loss",
      timeMs: time.from_ms,
      text: prefixOf(profile, time.process, processes.length) + cut(time.text, 400),
    };
    if (time.to_ms !== null && time.to_ms > time.from_ms) mark.untilMs = time.to_ms;
    marks.push(mark);
  });
  return marks;
}

/* What the report counts in addition: the file does not tell when it was lost. */
function untimedLosses(
  profile: Profile,
  processes: readonly number[],
  report: Report | null,
): Mark[] {
  const known = new Map<string, number>();
  for (const time of profile.lossTimes) {
    if (!processes.includes(time.process)) continue;
    const key = lossKey(profile.processes[time.process].pid, time.name);
    known.set(key, (known.get(key) ?? 0) + time.count);
  }
  const marks: Mark[] = [];
  lossesOf(report).forEach((loss, i) => {
    const process = processes.find((each) => profile.processes[each].pid === loss.pid);
    if (loss.pid !== undefined && process === undefined) return;
    const key = lossKey(loss.pid, loss.name);
    const timed = Math.min(known.get(key) ?? 0, loss.count);
    known.set(key, (known.get(key) ?? 0) - timed);
    if (timed > 0 && timed === loss.count) return;
    const prefix = process === undefined ? "" : prefixOf(profile, process, processes.length);
    const text = `${prefix}${cut(loss.text, 400)} (${loss.count - timed})`;
    marks.push({ key: `loss ${i}`, kind: "loss", timeMs: null, text });
  });
  return marks;
}

/* The highest peak that a snapshot of the process knows. */
function peakMark(profile: Profile, process: number, prefix: string): Mark | null {
  let best: Mark | null = null;
  let most = 0;
  for (const index of snapshotsOf(profile, process)) {
    const { peak, peak_time_ms: timeMs } = profile.snapshots[index];
    if (!peak || timeMs === null || peak.bytes <= most) continue;
    most = peak.bytes;
    const whose = profile.snapshots[index].is_peak_of_all_heaps ? " of all heaps" : "";
    const text = `${prefix}the peak${whose}: ${bytes(peak.bytes)} were live`;
    best = { key: `peak ${process}`, kind: "peak", timeMs, text, bytes: most };
  }
  return best;
}

function marksOfProcess(profile: Profile, process: number, prefix: string): Mark[] {
  const marks: Mark[] = [];
  for (const index of snapshotsOf(profile, process)) {
    const snapshot = profile.snapshots[index];
    if (!snapshot.name) continue;
    marks.push({
      key: `name ${index}`,
      kind: "name",
      timeMs: timeOf(snapshot),
      text: `${prefix}snapshot “${cut(snapshot.name, 200)}”`,
    });
  }
  profile.changes.forEach((change, i) => {
    if (change.process !== process) return;
    const text = prefix + cut(change.text, 400);
    marks.push({ key: `interval ${i}`, kind: "interval", timeMs: change.time_ms, text });
  });
  return marks;
}

/*
 * The marks of these processes of one file, in the order of time; those without a time come last.
 * Of many processes, the peaks of the largest ones are enough.
 */
export function marksOf(
  profile: Profile,
  processes: readonly number[],
  largest: readonly number[],
  report: Report | null,
): Mark[] {
  const marks = processes.flatMap((process) =>
    marksOfProcess(profile, process, prefixOf(profile, process, processes.length)),
  );
  for (const process of largest) {
    const peak = peakMark(profile, process, prefixOf(profile, process, processes.length));
    if (peak) marks.push(peak);
  }
  marks.push(...timedLosses(profile, processes), ...untimedLosses(profile, processes, report));
  const order = (mark: Mark) => mark.timeMs ?? Infinity;
  return marks.sort((a, b) => (order(a) === order(b) ? 0 : order(a) - order(b)));
}

function prefixOf(profile: Profile, process: number, count: number): string {
  return count > 1 ? `${cut(processTitle(profile, process), 60)}: ` : "";
}

/* "12.3 s", or "12.3 s to 12.5 s", from the start of what is shown. */
export function markTime(mark: Mark, originMs: number): string {
  const from = timeText(mark.timeMs, originMs);
  return mark.untilMs === undefined ? from : `${from} to ${timeText(mark.untilMs, originMs)}`;
}

/* "12.3 s", from the start of what is shown. */
export function timeText(timeMs: number | null, originMs: number): string {
  return timeMs === null ? "time not recorded" : duration((timeMs - originMs) / 1000);
}
