/*
 * What of a profile a view shows: snapshots, a measure, and filters by process, heap, thread, type,
 * scope and age. It is read from the address: its keys are `snapshot` (indices, joined by commas),
 * `measure`, `process`, `heap`, `thread`, `type`, `scope`, `age`.
 *
 * Without a chosen heap the heaps count that the totals contain; see docs/PAGE.md on heaps that
 * would be counted twice.
 */
import type { Address } from "../state.ts";
import type { Snapshot } from "./documents.ts";
import { measureOf, type Measure } from "./measures.ts";
import type { Profile } from "./profile.ts";
import type { Rows } from "./rows.ts";

export const PART_KEYS = ["thread", "type", "scope", "age"] as const;
export type PartKey = (typeof PART_KEYS)[number];

export interface Selection {
  /* Indices of snapshots, of which each is of another process as a rule. */
  snapshots: readonly number[];
  measure: Measure;
  heap: number | null;
  parts: Readonly<Record<PartKey, number | null>>;
}

export interface LoadedRows {
  index: number;
  snapshot: Snapshot;
  rows: Rows;
}

function numberOf(address: Address, key: string): number | null {
  const text = address.get(key);
  return text !== null && /^-?\d+$/.test(text) ? Number(text) : null;
}

/* The snapshots that the address names, without those that the file does not have. */
function snapshotsOf(profile: Profile, address: Address): number[] {
  const named = (address.get("snapshot") ?? "")
    .split(",")
    .filter((text) => /^\d+$/.test(text))
    .map(Number)
    .filter((index) => index < profile.snapshots.length);
  const chosen = named.length > 0 ? named : profile.files.flatMap((file) => file.selected);
  const process = numberOf(address, "process");
  const kept = chosen.filter((i) => process === null || profile.snapshots[i].process === process);
  return [...new Set(kept.length > 0 ? kept : chosen)];
}

/* Whether all these snapshots have the peak: one that has none would make the sum too small. */
export function hasPeak(profile: Profile, snapshots: readonly number[]): boolean {
  return snapshots.length > 0 && snapshots.every((i) => profile.snapshots[i].has_peak);
}

export function selectionOf(profile: Profile, address: Address): Selection {
  const snapshots = snapshotsOf(profile, address);
  const first = profile.snapshots[snapshots[0]];
  const file = first ? profile.files[profile.processes[first.process].file] : profile.files[0];
  let measure = measureOf(address.get("measure") ?? file?.view);
  if (measure.quantity === "peak" && !hasPeak(profile, snapshots)) measure = measureOf("space");
  const heap = numberOf(address, "heap");
  const parts = Object.fromEntries(PART_KEYS.map((key) => [key, numberOf(address, key)]));
  return {
    snapshots,
    measure,
    heap: heap !== null && heap >= 0 && heap < profile.heaps.length ? heap : null,
    parts: parts as Record<PartKey, number | null>,
  };
}

/* The rows of the selected snapshots; a snapshot whose rows are not in the page has none. */
export async function loadSelected(
  profile: Profile,
  snapshots: readonly number[],
): Promise<LoadedRows[]> {
  const loaded = await Promise.all(
    snapshots.map(async (index) => ({
      index,
      snapshot: profile.snapshots[index],
      rows: await profile.rows(index),
    })),
  );
  return loaded.filter((each): each is LoadedRows => each.rows !== null);
}

/* For each heap, whether the selection contains its rows of this snapshot. */
export function chosenHeaps(profile: Profile, snapshot: Snapshot, heap: number | null): Uint8Array {
  const chosen = new Uint8Array(profile.heaps.length);
  if (heap !== null) chosen[heap] = 1;
  else for (const each of snapshot.heaps) if (each.is_counted) chosen[each.heap] = 1;
  return chosen;
}

/* Which filters of the selection the rows of this quantity cannot answer: "not recorded". */
export function unknownParts(rows: Rows, selection: Selection): PartKey[] {
  const parts = rows.parts[selection.measure.quantity];
  return PART_KEYS.filter((key) => selection.parts[key] !== null && !parts?.[key]);
}

function matches(i: number, wanted: readonly [Int32Array, number][]): boolean {
  for (const [column, value] of wanted) if (column[i] !== value) return false;
  return true;
}

/*
 * What of each row the filters by thread, type, scope and age leave: null, if there is no such
 * filter; "unknown", if the rows do not record one of them.
 */
export function matchingParts(rows: Rows, selection: Selection): Float64Array | null | "unknown" {
  const { quantity, isCount } = selection.measure;
  const keys = PART_KEYS.filter((key) => selection.parts[key] !== null);
  if (keys.length === 0) return null;
  const parts = rows.parts[quantity];
  if (!parts || unknownParts(rows, selection).length > 0) return "unknown";
  const wanted = keys.map((key): [Int32Array, number] => [
    parts[key] as Int32Array,
    selection.parts[key] as number,
  ]);
  const values = new Float64Array(rows.count);
  const column = isCount ? parts.objects : parts.bytes;
  for (let i = 0; i < parts.count; i++) if (matches(i, wanted)) values[parts.row[i]] += column[i];
  return values;
}

/*
 * The value of each row in the measure of the selection; 0 where the selection does not contain the
 * row. A filter that the file cannot answer (unknownParts) selects nothing.
 */
export function rowValues(
  profile: Profile,
  loaded: LoadedRows,
  selection: Selection,
): Float64Array {
  const { rows, snapshot } = loaded;
  const { quantity, isCount } = selection.measure;
  const amounts = rows[quantity];
  const parts = matchingParts(rows, selection);
  const values = new Float64Array(rows.count);
  if (!amounts || parts === "unknown") return values;
  const heaps = chosenHeaps(profile, snapshot, selection.heap);
  const column = isCount ? amounts.count : amounts.bytes;
  for (let i = 0; i < rows.count; i++) {
    if (heaps[rows.heap[i]]) values[i] = parts === null ? column.at(i) : parts[i];
  }
  return values;
}

/* For each node of the tree, what the selection holds in the stacks that end there. */
export function selfByNode(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
): Float64Array {
  const self = new Float64Array(profile.tree.count);
  for (const each of loaded) {
    const values = rowValues(profile, each, selection);
    for (let i = 0; i < values.length; i++) self[each.rows.node[i]] += values[i];
  }
  return self;
}

/* Adds to each node what the nodes below it hold. */
export function totalsByNode(profile: Profile, self: Float64Array): Float64Array {
  const total = self.slice();
  const { parent } = profile.tree;
  for (let i = total.length - 1; i >= 0; i--) if (parent[i] >= 0) total[parent[i]] += total[i];
  return total;
}
