/*
 * The curves of the timeline: live memory of each heap or process, from the snapshots; and
 * counters.
 *
 * Between two snapshots a curve is a straight line; nobody knows what happened there. A counter is
 * written when it changes, so it holds until its next value.
 *
 * Times are in milliseconds from the start of the file.
 */
import type { Amount, Snapshot } from "../data/documents.ts";
import { processTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";

export interface Curve {
  key: string;
  name: string;
  times: readonly number[];
  values: readonly number[];
  /* It holds each value until the next one. Otherwise it is straight from one to the next. */
  isStep: boolean;
  /* It holds its last value no longer: its process has ended. */
  hasEnd?: boolean;
}

/* What of a snapshot is drawn. */
export type Pick = (of: { live: Amount; alloc: Amount }) => number;

/* The snapshots of a process whose times are known, in the order of time. */
export function snapshotsOf(profile: Profile, process: number): number[] {
  return profile.snapshots
    .map((_, i) => i)
    .filter((i) => {
      const snapshot = profile.snapshots[i];
      return snapshot.process === process && snapshot.time_ms !== null;
    })
    .sort((a, b) => timeOf(profile.snapshots[a]) - timeOf(profile.snapshots[b]));
}

export function timeOf(snapshot: Snapshot): number {
  return snapshot.time_ms ?? 0;
}

function largestFirst(curves: Curve[]): Curve[] {
  const size = new Map(curves.map((curve) => [curve, Math.max(0, ...curve.values)]));
  return curves.sort((a, b) => (size.get(b) ?? 0) - (size.get(a) ?? 0));
}

/*
 * One curve for each heap of a process that the totals contain, or for the chosen heap alone. The
 * largest is the first. Heaps that never held anything are left out, unless no other is there.
 */
export function heapCurves(
  profile: Profile,
  process: number,
  heap: number | null,
  pick: Pick,
): Curve[] {
  const indices = snapshotsOf(profile, process);
  const times = indices.map((i) => timeOf(profile.snapshots[i]));
  const values = new Map<number, number[]>();
  indices.forEach((index, at) => {
    for (const each of profile.snapshots[index].heaps) {
      if (heap === null ? !each.is_counted : each.heap !== heap) continue;
      let list = values.get(each.heap);
      if (!list) values.set(each.heap, (list = times.map(() => 0)));
      list[at] = pick(each);
    }
  });
  const curves = [...values].map(([index, list]) => ({
    key: `heap ${index}`,
    name: profile.heaps[index].name,
    times,
    values: list,
    isStep: false,
  }));
  const used = curves.filter((curve) => curve.values.some((value) => value > 0));
  return largestFirst(used.length > 0 ? used : curves);
}

/* The sum over the heaps that the totals contain, or what the chosen heap has. */
function wholeOf(snapshot: Snapshot, heap: number | null, pick: Pick): number {
  if (heap === null) return pick(snapshot);
  const chosen = snapshot.heaps.find((each) => each.heap === heap);
  return chosen ? pick(chosen) : 0;
}

/*
 * One curve for each of these processes, the largest first; those beyond `most` are one curve.
 * `recorded` has what was recorded between the snapshots of a process, if it was.
 */
export function processCurves(
  profile: Profile,
  processes: readonly number[],
  heap: number | null,
  pick: Pick,
  most: number,
  recorded: (process: number) => Curve | null = () => null,
): Curve[] {
  const all = processes.map((process): Curve => {
    const own = { key: `process ${process}`, name: processTitle(profile, process) };
    const known = recorded(process);
    if (known) return { ...known, ...own, hasEnd: true };
    const indices = snapshotsOf(profile, process);
    return {
      ...own,
      times: indices.map((i) => timeOf(profile.snapshots[i])),
      values: indices.map((i) => wholeOf(profile.snapshots[i], heap, pick)),
      isStep: false,
    };
  });
  const curves = largestFirst(all.filter((curve) => curve.times.length > 0));
  if (curves.length <= most) return curves;
  const rest = curves.slice(most - 1);
  return [...curves.slice(0, most - 1), sumOf(rest, `${rest.length} others`)];
}

/* The value at a time; null where the curve is not. */
export function valueAt(curve: Curve, time: number): number | null {
  const { times, values } = curve;
  const count = times.length;
  if (count === 0 || time < times[0]) return null;
  if (time > times[count - 1] && (!curve.isStep || curve.hasEnd)) return null;
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle - 1;
  }
  if (curve.isStep || low + 1 >= count) return values[low];
  const length = times[low + 1] - times[low];
  if (length <= 0) return values[low];
  return values[low] + ((values[low + 1] - values[low]) * (time - times[low])) / length;
}

/* All times at which one of these curves has a value, and just outside of its ends. */
function allTimes(curves: readonly Curve[], withEdges: boolean): number[] {
  const times = new Set<number>();
  for (const curve of curves) {
    for (const time of curve.times) times.add(time);
    if (!withEdges || curve.times.length === 0) continue;
    times.add(curve.times[0] - EDGE_MS);
    times.add(curve.times[curve.times.length - 1] + EDGE_MS);
  }
  return [...times].sort((a, b) => a - b);
}

/* So far before its first value and after its last one, a curve of a stack is 0. */
const EDGE_MS = 0.01;

function sumOf(curves: readonly Curve[], name: string): Curve {
  const times = allTimes(curves, true);
  const values = times.map((time) =>
    curves.reduce((sum, curve) => sum + (valueAt(curve, time) ?? 0), 0),
  );
  return { key: "others", name, times, values, isStep: curves.every((curve) => curve.isStep) };
}

/*
 * The curves on top of each other, the first one at the bottom: for each, the sum of it and those
 * below it, at all times that one of them has.
 */
export function stacked(curves: readonly Curve[]): { times: number[]; sums: number[][] } {
  const isTogether = curves.every((curve) => curve.times === curves[0].times);
  const times = allTimes(curves, !isTogether);
  const below = times.map(() => 0);
  const sums = curves.map((curve) =>
    times.map((time, i) => (below[i] += valueAt(curve, time) ?? 0)),
  );
  return { times, sums };
}

/* The curves on one axis of time, for uPlot: null where a curve has no value of its own. */
export function aligned(
  parts: readonly { times: readonly number[]; values: readonly number[] }[],
): [number[], ...(number | null)[][]] {
  const times = [...new Set(parts.flatMap((part) => [...part.times]))].sort((a, b) => a - b);
  const place = new Map(times.map((time, i) => [time, i]));
  const columns = parts.map((part) => {
    const column: (number | null)[] = times.map(() => null);
    part.times.forEach((time, i) => (column[place.get(time) ?? 0] = part.values[i]));
    return column;
  });
  return [times, ...columns];
}
