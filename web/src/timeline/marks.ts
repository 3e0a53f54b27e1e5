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

/* The highest peak that a snapshot of the process knows. */
function peakMark(profile: Profile, process: number, prefix: string): Mark | null {
  let best: Mark | null = null;
  let most = 0;
  for (const index of snapshotsOf(profile, process)) {
    const { peak, peak_time_ms: timeMs } = profile.snapshots[index];
    if (!peak || timeMs === null || peak.bytes <= most) continue;
    most = peak.bytes;
    const text = `${prefix}the peak: ${bytes(peak.bytes)} were live`;
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
  const pids = new Set(processes.map((process) => profile.processes[process].pid));
  lossesOf(report).forEach((loss, i) => {
    if (loss.pid !== undefined && !pids.has(loss.pid)) return;
    const process = processes.find((each) => profile.processes[each].pid === loss.pid);
    const prefix = process === undefined ? "" : prefixOf(profile, process, processes.length);
    const text = `${prefix}${cut(loss.text, 400)} (${loss.count})`;
    marks.push({ key: `loss ${i}`, kind: "loss", timeMs: null, text });
  });
  const order = (mark: Mark) => mark.timeMs ?? Infinity;
  return marks.sort((a, b) => (order(a) === order(b) ? 0 : order(a) - order(b)));
}

function prefixOf(profile: Profile, process: number, count: number): string {
  return count > 1 ? `${cut(processTitle(profile, process), 60)}: ` : "";
}

/* "12.3 s", from the start of what is shown. */
export function timeText(timeMs: number | null, originMs: number): string {
  return timeMs === null ? "time not recorded" : duration((timeMs - originMs) / 1000);
}
