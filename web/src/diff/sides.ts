/*
 * Which snapshots are compared, and whether they can be. They stand in the address, in the keys
 * "diff.before" and "diff.after": a snapshot or several, joined by commas.
 */
import { measureOf, type Measure } from "../data/measures.ts";
import type { Profile } from "../data/profile.ts";
import { hasPeak, unknownParts, type LoadedRows, type Selection } from "../data/selection.ts";
import type { Address } from "../state.ts";

export interface Sides {
  before: readonly number[];
  after: readonly number[];
}

const hasRows = (profile: Profile, i: number) => profile.snapshots[i].rows !== null;

/* Whether there are two things to compare. */
export function canCompare(profile: Profile): boolean {
  return profile.snapshots.filter((snapshot) => snapshot.rows !== null).length >= 2;
}

function named(profile: Profile, text: string | null): number[] {
  return (text ?? "")
    .split(",")
    .filter((part) => /^\d+$/.test(part))
    .map(Number)
    .filter((i) => i < profile.snapshots.length && hasRows(profile, i));
}

/* The process with the most snapshots. */
function busiest(profile: Profile): number[] {
  const lists = new Map<number, number[]>();
  profile.snapshots.forEach((snapshot, i) => {
    if (!hasRows(profile, i)) return;
    const list = lists.get(snapshot.process);
    if (list) list.push(i);
    else lists.set(snapshot.process, [i]);
  });
  return [...lists.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
}

/*
 * Of two files, what their reports are about. Of one, the first snapshot of a process and the one
 * with the most live memory: what was added. If the first one has the most, the last one.
 */
function defaults(profile: Profile): Sides {
  if (profile.files.length > 1) {
    const [before, after] = profile.files.map((file) =>
      file.selected.filter((i) => hasRows(profile, i)),
    );
    if (before.length > 0 && after.length > 0) return { before, after };
  }
  const list = busiest(profile);
  if (list.length < 2) {
    const all = profile.snapshots.map((_, i) => i).filter((i) => hasRows(profile, i));
    return { before: all.slice(0, 1), after: all.slice(1, 2) };
  }
  const live = (i: number) => profile.snapshots[i].live.bytes;
  const most = list.reduce((a, b) => (live(b) > live(a) ? b : a));
  return { before: [list[0]], after: [most === list[0] ? list[list.length - 1] : most] };
}

export function sidesOf(profile: Profile, address: Address): Sides {
  const chosen = {
    before: named(profile, address.get("diff.before")),
    after: named(profile, address.get("diff.after")),
  };
  const usual = defaults(profile);
  return {
    before: chosen.before.length > 0 ? chosen.before : usual.before,
    after: chosen.after.length > 0 ? chosen.after : usual.after,
  };
}

/*
 * What is compared: what the address names; else what is live, or the peak, if the reports of both
 * files are about that. A peak that one side does not know cannot be compared.
 */
export function measureOfSides(profile: Profile, address: Address, sides: Sides): Measure {
  const fileOf = (i: number) => profile.files[profile.processes[profile.snapshots[i].process].file];
  const all = [...sides.before, ...sides.after];
  const isOfFiles = sides.before.length > 0 && sides.after.length > 0;
  const areTwo = isOfFiles && fileOf(sides.before[0]) !== fileOf(sides.after[0]);
  const isPeak = areTwo && all.every((i) => fileOf(i).view === "peak");
  const measure = measureOf(address.get("measure") ?? (isPeak ? "peak" : "space"));
  return measure.quantity === "peak" && !hasPeak(profile, all) ? measureOf("space") : measure;
}

/* The filters of the other views, for the snapshots of one side. */
export function selectionOfSide(selection: Selection, snapshots: readonly number[]): Selection {
  return { ...selection, snapshots };
}

/* The filters of the selection that hold for one of the processes, or files, that are compared. */
function partialFilters(
  profile: Profile,
  loaded: readonly LoadedRows[],
  { parts }: Selection,
): string[] {
  const processes = new Set(loaded.map(({ snapshot }) => snapshot.process));
  const files = new Set([...processes].map((i) => profile.processes[i].file));
  const owner = parts.thread === null ? undefined : profile.threads.process[parts.thread];
  const isOfOne = owner === undefined || [...processes].every((process) => process === owner);
  return [
    ...(isOfOne ? [] : ["thread"]),
    ...(parts.scope !== null && files.size > 1 ? ["scope"] : []),
  ];
}

/* Why the selection cannot be compared; "": it can. */
export function hindranceOf(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
): string {
  const { measure } = selection;
  if (loaded.some(({ rows }) => rows[measure.quantity] === null)) {
    return `${measure.title} was not recorded on both sides.`;
  }
  const partial = partialFilters(profile, loaded, selection);
  if (partial.length > 0) {
    return (
      `The filter by ${partial.join(" and ")} holds for one side only: ` +
      "without it, both can be compared."
    );
  }
  const unknown = new Set(loaded.flatMap(({ rows }) => unknownParts(rows, selection)));
  if (unknown.size === 0) return "";
  return `The filter by ${[...unknown].join(" and ")} selects nothing: that was not recorded.`;
}
