/*
 * What is the same in several files, or in two builds of a program: functions with equal values in
 * the column `same`, and stacks whose functions are the same from the outermost one on. Comparisons
 * add up by them. Two functions that are the same may have different names and modules; each file
 * has its own.
 */
import { ROOT, type Profile } from "./profile.ts";
import type { Stacks } from "./select_stacks.ts";
import type { LoadedRows } from "./selection.ts";

/* Small numbers for the values of the column: equal functions have equal ones. */
export interface SameFunctions {
  /* By function. */
  keys: Int32Array;
  count: number;
  /* For each key, the function whose name and module are shown. */
  functionOf: Int32Array;
}

/* Notes the functions on the stacks of these rows for keys that have none yet. */
function noteFunctions(
  { owner, caller, functionOf: functions }: Stacks,
  keys: Int32Array,
  functionOf: Int32Array,
  { rows }: LoadedRows,
): void {
  const isSeen = new Uint8Array(owner.length);
  for (let row = 0; row < rows.count; row++) {
    for (let at = owner[rows.node[row]]; at !== ROOT && isSeen[at] === 0; at = caller[at]) {
      isSeen[at] = 1;
      const key = keys[functions[at]];
      if (functionOf[key] < 0) functionOf[key] = functions[at];
    }
  }
}

/*
 * `rows` are those that are compared, the later side first: what it calls a function is its name,
 * and what only the earlier side has keeps the name that it had there.
 */
export function sameFunctions(
  profile: Profile,
  stacks: Stacks,
  rows: readonly LoadedRows[],
): SameFunctions {
  const { count, same } = profile.functions;
  const keys = new Int32Array(count);
  const known = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    const key = known.get(same[i]) ?? known.size;
    known.set(same[i], key);
    keys[i] = key;
  }
  const functionOf = new Int32Array(known.size).fill(-1);
  for (const each of rows) noteFunctions(stacks, keys, functionOf, each);
  for (let i = 0; i < count; i++) if (functionOf[keys[i]] < 0) functionOf[keys[i]] = i;
  return { keys, count: known.size, functionOf };
}

/* By key: whether one of its functions matches, under any of its names. */
export function matchingKeys(same: SameFunctions, matches: Uint8Array): Uint8Array {
  const found = new Uint8Array(same.count);
  for (let i = 0; i < matches.length; i++) if (matches[i] === 1) found[same.keys[i]] = 1;
  return found;
}

/*
 * For each node that filters leave, the first one with the same stack. The filters come first: a
 * frame may be hidden in one file and not in the other, because its module has another path there.
 *
 * Holds     number[i] <= i
 */
export function sameNodes(same: SameFunctions, stacks: Stacks): Int32Array {
  const { caller, isShown, isRoot, functionOf } = stacks;
  const count = caller.length;
  const numbers = new Int32Array(count);
  const known = new Map<number, number>();
  for (let node = 0; node < count; node++) {
    numbers[node] = node;
    if (isShown[node] === 0) continue;
    const above = caller[node] === ROOT ? 0 : numbers[caller[node]] + 1;
    /* What a graph begins with is not the same as what stands behind it. */
    const place = (above * same.count + same.keys[functionOf[node]]) * 2 + isRoot[node];
    const first = known.get(place);
    if (first === undefined) known.set(place, node);
    else numbers[node] = first;
  }
  return numbers;
}
