/*
 * Divides what is selected by one property: function, module, heap, process, thread, type, scope,
 * age.
 *
 * A row counts for the function that the report would name for it: the innermost one that is not of
 * an allocator, a language's library or a runtime (the column `headline`).
 */
import { functionOfNode, partName, processTitle, shortName } from "./names.ts";
import type { Profile } from "./profile.ts";
import {
  chosenHeaps,
  PART_KEYS,
  type LoadedRows,
  type PartKey,
  type Selection,
} from "./selection.ts";

export type BreakdownKey = "function" | "module" | "heap" | "process" | PartKey;

export interface BreakdownPart {
  /* The index of the function, heap and so on; below 0: none, unknown. Modules: of a string. */
  id: number;
  value: number;
}

function isPartKey(key: BreakdownKey): key is PartKey {
  return (PART_KEYS as readonly string[]).includes(key);
}

/* The function that row i of the table counts for. */
export function headlineFunction(profile: Profile, rows: LoadedRows["rows"], i: number): number {
  let node = rows.node[i];
  for (let up = rows.headline[i]; up > 0 && profile.tree.parent[node] >= 0; up--) {
    node = profile.tree.parent[node];
  }
  return functionOfNode(profile, node);
}

function idOfRow(profile: Profile, each: LoadedRows, i: number, key: BreakdownKey): number {
  if (key === "heap") return each.rows.heap[i];
  if (key === "process") return each.snapshot.process;
  const index = headlineFunction(profile, each.rows, i);
  if (key === "function") return index;
  const module = profile.functions.module[index];
  return module < 0 ? -1 : profile.modules.name[module];
}

/*
 * The parts, the largest first; null where the file does not record this property. Filters by
 * thread, type, scope and age are not applied: a view that offers both uses rowValues().
 */
export function breakdown(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  key: BreakdownKey,
): BreakdownPart[] | null {
  const { quantity, isCount } = selection.measure;
  const sums = new Map<number, number>();
  const add = (id: number, value: number) => {
    if (value !== 0) sums.set(id, (sums.get(id) ?? 0) + value);
  };
  let isKnown = !isPartKey(key);
  for (const each of loaded) {
    const { rows } = each;
    const heaps = chosenHeaps(profile, each.snapshot, selection.heap);
    if (isPartKey(key)) {
      const parts = rows.parts[quantity];
      const column = parts?.[key];
      if (!parts || !column) continue;
      isKnown = true;
      const values = isCount ? parts.objects : parts.bytes;
      for (let i = 0; i < parts.count; i++) {
        if (heaps[rows.heap[parts.row[i]]]) add(column[i], values[i]);
      }
      continue;
    }
    const amounts = rows[quantity];
    if (!amounts) continue;
    const values = isCount ? amounts.count : amounts.bytes;
    for (let i = 0; i < rows.count; i++) {
      if (heaps[rows.heap[i]]) add(idOfRow(profile, each, i, key), values.at(i));
    }
  }
  if (!isKnown) return null;
  return [...sums].map(([id, value]) => ({ id, value })).sort((a, b) => b.value - a.value);
}

/* The name of a part. */
export function breakdownName(profile: Profile, key: BreakdownKey, id: number): string {
  switch (key) {
    case "function":
      return shortName(profile, id);
    case "module":
      return id < 0 ? "no module" : profile.strings[id];
    case "heap":
      return profile.heaps[id].name;
    case "process":
      return processTitle(profile, id);
    default:
      return partName(profile, key, id);
  }
}
