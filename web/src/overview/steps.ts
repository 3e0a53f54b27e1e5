/*
 * A value over time that holds until it changes, the sum of several, and its highest values in
 * equal parts of the time: what a small chart needs.
 *
 * Times are in milliseconds from the start of the file, values in bytes.
 */
import { LIVE_TRACK, RSS_TRACK } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";

export interface Steps {
  times: readonly number[];
  values: readonly number[];
}

function trackOf(profile: Profile, process: number, name: string): Steps | null {
  const track = profile.tracks.find((each) => each.process === process && each.name === name);
  return track && track.timeMs.length > 0
    ? { times: [...track.timeMs], values: [...track.value] }
    : null;
}

/* The sum of all; each is 0 before its first time and from its `end` on, if that is known. */
export function sumOfSteps(parts: readonly { steps: Steps; end: number | null }[]): Steps {
  const changes: [number, number][] = [];
  for (const { steps, end } of parts) {
    let last = 0;
    steps.times.forEach((time, i) => {
      changes.push([time, steps.values[i] - last]);
      last = steps.values[i];
    });
    if (end !== null) changes.push([Math.max(end, steps.times[steps.times.length - 1]), -last]);
  }
  changes.sort((a, b) => a[0] - b[0]);
  const times: number[] = [];
  const values: number[] = [];
  let sum = 0;
  for (const [time, change] of changes) {
    sum += change;
    if (times[times.length - 1] === time) values[values.length - 1] = sum;
    else {
      times.push(time);
      values.push(sum);
    }
  }
  return { times, values };
}

/* The highest value in each of `count` equal parts of the time; null before the first value. */
export function highestOf(
  steps: Steps,
  from: number,
  to: number,
  count: number,
): (number | null)[] {
  const { times, values } = steps;
  const highest: (number | null)[] = [];
  let at = -1;
  for (let i = 0; i < count; i++) {
    const end = from + ((to - from) * (i + 1)) / count;
    let most = at < 0 ? null : values[at];
    while (
      at + 1 < times.length &&
      (times[at + 1] < end || (i === count - 1 && times[at + 1] <= to))
    )
      most = Math.max(most ?? 0, values[++at]);
    highest.push(most);
  }
  return highest;
}

export interface OverTime {
  from: number;
  to: number;
  /* Live memory of all these processes; of those that were too short-lived it is unknown. */
  live: Steps;
  /* Resident memory; null: unknown, or of several processes, which share some of it. */
  rss: Steps | null;
  processCount: number;
}

/* What the file knows about these processes between the snapshots; null: nothing. */
export function overTime(profile: Profile, processes: readonly number[]): OverTime | null {
  const parts = processes.flatMap((process) => {
    const steps = trackOf(profile, process, LIVE_TRACK);
    return steps ? [{ process, steps, end: profile.processes[process].end_ms }] : [];
  });
  if (parts.length === 0) return null;
  const isOne = parts.length === 1 && processes.length === 1;
  const rss = isOne ? trackOf(profile, processes[0], RSS_TRACK) : null;
  /* Of one process, the last value is what it held at its end. */
  const live = isOne ? parts[0].steps : sumOfSteps(parts);
  const starts = processes.map((process) => profile.processes[process].start_ms ?? Infinity);
  const ends = processes.map((process) => profile.processes[process].end_ms ?? -Infinity);
  const from = Math.min(live.times[0], ...starts);
  const to = Math.max(live.times[live.times.length - 1], ...ends);
  return to > from ? { from, to, live, rss, processCount: parts.length } : null;
}
