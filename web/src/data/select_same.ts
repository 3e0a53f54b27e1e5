/*
 * The same stacks of several files: nodes whose functions are the same from the outermost one on
 * (the column `same` of functions) have one number. Comparisons add up by it.
 *
 * Holds     number[i] <= i: the number is the first of these nodes.
 */
import { functionOfNode } from "./names.ts";
import { ROOT, type Profile } from "./profile.ts";

/* Small numbers for the values of the column: equal functions have equal ones. */
export interface SameFunctions {
  keys: Int32Array;
  count: number;
  /* For each key, one of its functions. */
  functionOf: number[];
}

export function sameFunctions(profile: Profile): SameFunctions {
  const { count, same } = profile.functions;
  const keys = new Int32Array(count);
  const known = new Map<number, number>();
  const functionOf: number[] = [];
  for (let i = 0; i < count; i++) {
    let key = known.get(same[i]);
    if (key === undefined) {
      key = functionOf.push(i) - 1;
      known.set(same[i], key);
    }
    keys[i] = key;
  }
  return { keys, count: functionOf.length, functionOf };
}

export function sameNodes(profile: Profile, same: SameFunctions): Int32Array {
  const { count, parent } = profile.tree;
  const numbers = new Int32Array(count);
  const known = new Map<number, number>();
  for (let node = 0; node < count; node++) {
    const up = parent[node] === ROOT ? -1 : numbers[parent[node]];
    const place = (up + 1) * same.count + same.keys[functionOfNode(profile, node)];
    const first = known.get(place);
    if (first === undefined) known.set(place, node);
    numbers[node] = first ?? node;
  }
  return numbers;
}
