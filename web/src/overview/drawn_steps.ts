/*
 * What a small chart of the memory over time needs: the counters of the processes, and their
 * highest values in equal parts of the time. Values are bytes.
 */
import { LIVE_TRACK, RSS_TRACK } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { sumOfSteps, type Steps } from "../data/steps.ts";

function trackOf(profile: Profile, process: number, name: string): Steps | null {
  const track = profile.tracks.find((each) => each.process === process && each.name === name);
  return track && track.timeMs.length > 0
    ? { times: [...track.timeMs], values: [...track.value] }
    : null;
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
