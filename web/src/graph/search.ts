/*
 * Search in a flame graph: which functions match, and how much memory is in stacks that have one of
 * them. A stack counts once, however often it matches.
 */
import { ROOT, type Profile } from "../data/profile.ts";
import { matchingFunctions, patternOf } from "../data/select_filters.ts";
import { placed, type Stacks } from "../data/select_stacks.ts";

export interface Found {
  /* By function. */
  matches: Uint8Array;
  /* Functions that match and are in the graph. */
  functionCount: number;
  total: number;
  error: string | null;
}

export function search(
  profile: Profile,
  stacks: Stacks,
  values: Float64Array,
  text: string,
): Found | null {
  if (text === "") return null;
  const matches = matchingFunctions(profile, text);
  const { caller, isShown, functionOf } = stacks;
  const self = placed(stacks, values);
  const count = self.length;
  const isUnder = new Uint8Array(count);
  const isNeeded = new Uint8Array(count);
  const seen = new Set<number>();
  let total = 0;
  for (let i = 0; i < count; i++) {
    if (isShown[i] === 0) continue;
    const isInside = caller[i] !== ROOT && isUnder[caller[i]] === 1;
    if (isInside || matches[functionOf[i]] === 1) isUnder[i] = 1;
    if (isUnder[i] === 1) total += self[i];
  }
  for (let i = count - 1; i >= 0; i--) {
    if (isShown[i] === 0 || (self[i] === 0 && isNeeded[i] === 0)) continue;
    if (caller[i] !== ROOT) isNeeded[caller[i]] = 1;
    if (matches[functionOf[i]] === 1) seen.add(functionOf[i]);
  }
  return { matches, functionCount: seen.size, total, error: patternOf(text).error };
}
