/*
 * The changes as rows of a table: of functions, or of stacks. Names and frames are read when a row
 * is shown, because there may be a hundred thousand rows.
 */
import { functionName, isOfProgram, moduleName } from "../data/names.ts";
import { ROOT, type Profile } from "../data/profile.ts";
import { matchingFunctions } from "../data/select_filters.ts";
import { matchingKeys } from "../data/select_same.ts";
import { changesOf, type Compared, type Comparison } from "./compare.ts";
import { toneOf } from "./words.ts";

export type ListKind = "self" | "total" | "stacks";

export interface ChangeList {
  profile: Profile;
  kind: ListKind;
  /* The largest change first. */
  rows: readonly Compared[];
  /* Of a row: its function; of a stack, the one that it is accounted to. */
  functionOf: (id: number) => number;
  /* Of a stack: the functions that called this one, the innermost first. */
  callersOf: (id: number) => number[];
  /* Of a stack: all functions, the innermost first. */
  stackOf: (id: number) => number[];
  /* By row: whether it, or a function of its stack, matches. */
  matching: (text: string) => (id: number) => boolean;
}

/* By function: whether its name or its module has the text. */
function matchesOf(profile: Profile, text: string): Uint8Array {
  const matches = matchingFunctions(profile, text).slice();
  const lower = text.toLowerCase();
  for (let i = 0; i < matches.length; i++) {
    if (moduleName(profile, i).toLowerCase().includes(lower)) matches[i] = 1;
  }
  return matches;
}

/* By node: whether a function of its stack matches. */
function matchingStacks({ callerOf, keyOf }: Comparison, keys: Uint8Array, count: number) {
  const isUnder = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    const caller = callerOf(node);
    const isInside = caller !== ROOT && isUnder[caller] === 1;
    isUnder[node] = isInside || keys[keyOf(node)] === 1 ? 1 : 0;
  }
  return isUnder;
}

export function changeList(profile: Profile, comparison: Comparison, kind: ListKind): ChangeList {
  const { same, callerOf, keyOf, headlineOf } = comparison;
  const isOfStacks = kind === "stacks";
  const functionOf = (id: number) => same.functionOf[isOfStacks ? keyOf(headlineOf(id)) : id];
  const stackFrom = (first: number) => {
    const functions: number[] = [];
    if (!isOfStacks) return functions;
    for (let at = first; at !== ROOT; at = callerOf(at)) functions.push(same.functionOf[keyOf(at)]);
    return functions;
  };
  return {
    profile,
    kind,
    rows: changesOf(comparison, comparison[kind]),
    functionOf,
    callersOf: (id) => (isOfStacks ? stackFrom(headlineOf(id)).slice(1) : []),
    stackOf: stackFrom,
    matching(text) {
      if (text === "") return () => true;
      const keys = matchingKeys(same, matchesOf(profile, text));
      const found = isOfStacks ? matchingStacks(comparison, keys, profile.tree.count) : keys;
      return (id) => found[id] === 1;
    },
  };
}

const ORDERS: Readonly<Record<string, (row: Compared) => number>> = {
  change: ({ change }) => Math.abs(change.delta),
  before: ({ change }) => change.before,
  after: ({ change }) => change.after,
};

export const rowName = (list: ChangeList, id: number) =>
  functionName(list.profile, list.functionOf(id));

/* The module where it is not the program itself, whose name stands above the page. */
export function rowModule({ profile, functionOf }: ChangeList, id: number): string {
  const index = functionOf(id);
  return isOfProgram(profile, index) ? "" : moduleName(profile, index);
}

/* Sorted and filtered: rows of equal size keep their order. */
export function chosenRows(
  list: ChangeList,
  order: string,
  tones: readonly string[],
  text: string,
): Compared[] {
  const matches = list.matching(text);
  const shown = list.rows.filter(
    ({ id, change }) => tones.includes(toneOf(change.verdict)) && matches(id),
  );
  if (order !== "name") {
    const size = ORDERS[order] ?? ORDERS["change"];
    return shown.sort((a, b) => size(b) - size(a));
  }
  const { compare } = new Intl.Collator();
  const names = new Map(shown.map(({ id }) => [id, rowName(list, id)]));
  return shown.sort((a, b) => compare(names.get(a.id)!, names.get(b.id)!));
}

/* For a file: one object for each row. */
export function savedRow(list: ChangeList, { id, change }: Compared) {
  const frames = list.stackOf(id).map((index) => functionName(list.profile, index));
  const module = moduleName(list.profile, list.functionOf(id));
  return { function: rowName(list, id), module, ...change, frames };
}
