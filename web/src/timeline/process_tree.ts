/*
 * The processes of a file as a tree: a process stands below the one that started it.
 */
import type { Profile } from "../data/profile.ts";

export interface TreeRow {
  process: number;
  depth: number;
}

/* How a program ended that began another one in the same process. */
const EXECUTED = "executed another program";

const startOf = (profile: Profile, process: number) =>
  profile.processes[process].start_ms ?? -Infinity;

/*
 * The process that started this one: the last of its parent's pid that began before it. A pid is
 * used again after a program executed another one, and when the kernel's numbers begin anew.
 */
export function parentOf(profile: Profile, process: number): number | null {
  const own = profile.processes[process];
  let best: number | null = null;
  profile.processes.forEach((each, i) => {
    if (i === process || each.file !== own.file) return;
    const isParent = each.pid === own.ppid;
    /* The program that ran in the same process before. */
    const isBefore = each.pid === own.pid && each.ppid === own.ppid && each.end === EXECUTED;
    if (!isParent && !isBefore) return;
    const start = startOf(profile, i);
    const ownStart = startOf(profile, process);
    if (start > ownStart || (start === ownStart && i > process)) return;
    const isLater = best === null || start >= startOf(profile, best);
    if (isLater) best = i;
  });
  return best;
}

/* All processes of the file, each after its parent, by the time of their starts. */
export function treeOf(profile: Profile, file: number): TreeRow[] {
  const children = new Map<number | null, number[]>();
  profile.processes.forEach((process, i) => {
    if (process.file !== file) return;
    const parent = parentOf(profile, i);
    const list = children.get(parent);
    if (list) list.push(i);
    else children.set(parent, [i]);
  });
  const rows: TreeRow[] = [];
  const add = (parent: number | null, depth: number) => {
    const list = children.get(parent) ?? [];
    list.sort((a, b) => startOf(profile, a) - startOf(profile, b) || a - b);
    for (const process of list) {
      rows.push({ process, depth });
      add(process, depth + 1);
    }
  };
  add(null, 0);
  return rows;
}

/* The most live memory that a snapshot of the process has; null: it has none. */
export function mostLive(profile: Profile, process: number): number | null {
  let most: number | null = null;
  for (const snapshot of profile.snapshots) {
    if (snapshot.process !== process) continue;
    most = Math.max(most ?? 0, snapshot.live.bytes, snapshot.peak?.bytes ?? 0);
  }
  return most;
}
