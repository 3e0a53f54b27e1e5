/*
 * Which rows of a table are shown, in which order: the pattern and the column that the reader
 * chose.
 *
 * Ensures   equal values keep the order of the keys, so that a table looks the same twice.
 */
import { pickIntegers } from "../data/columns.ts";
import { functionName, functionOfNode } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { idOfKey, rowName, type Kind } from "./kinds.ts";
import { sortedBy } from "../data/sort.ts";
import { valuesAt, type ColumnSums } from "./sums.ts";

export interface Order {
  /* A column of figures, or "name". */
  column: string;
  isDescending: boolean;
}

export function parseOrder(text: string, fallback: string): Order {
  const [column, direction] = text.split(":");
  if (!column) return { column: fallback, isDescending: fallback !== "name" };
  return { column, isDescending: direction !== "up" };
}

export function orderText({ column, isDescending }: Order): string {
  return `${column}:${isDescending ? "down" : "up"}`;
}

/* The order after a click on the head of a column: the same column turns round. */
export function nextOrder(order: Order, column: string): Order {
  if (order.column === column) return { column, isDescending: !order.isDescending };
  return { column, isDescending: column !== "name" };
}

export interface Search {
  test: (text: string) => boolean;
  /* Why the text is no regular expression: it is searched for as it stands. */
  error: string | null;
}

/* A regular expression without regard to case; null: everything matches. */
export function searchOf(text: string): Search | null {
  if (text === "") return null;
  try {
    const pattern = new RegExp(text, "iu");
    return { test: (each) => pattern.test(each), error: null };
  } catch (error) {
    const lower = text.toLowerCase();
    return {
      test: (each) => each.toLowerCase().includes(lower),
      error: error instanceof Error ? error.message : String(error),
    };
  }
}

/* For each node, whether a function of its stack matches. */
function matchingStacks(profile: Profile, search: Search): Uint8Array {
  const { count, parent, frame } = profile.tree;
  const functions = new Uint8Array(profile.functions.count);
  for (let i = 0; i < functions.length; i++) {
    functions[i] = search.test(functionName(profile, i)) ? 1 : 0;
  }
  const nodes = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    const own = functions[profile.frames.function[frame[node]]];
    nodes[node] = own | (parent[node] >= 0 ? nodes[parent[node]] : 0);
  }
  return nodes;
}

/* The keys that match: by the whole name, the module, or any function of a stack. */
export function matchingKeys(
  profile: Profile,
  kind: Kind,
  keys: Int32Array,
  search: Search | null,
): Int32Array {
  if (search === null) return keys;
  if (kind === "stacks") {
    const nodes = matchingStacks(profile, search);
    return keys.filter((key) => nodes[idOfKey(key)] === 1);
  }
  return keys.filter((key) => {
    const { whole, detail } = rowName(profile, kind, idOfKey(key));
    return search.test(whole) || (detail !== "" && search.test(detail));
  });
}

/* For each name its place among all names; names are compared once, and not for each sorting. */
function nameRanks(profile: Profile, kind: Kind, keys: Int32Array): Float64Array {
  /* A stack is called as the function that it ends in. */
  const isStacks = kind === "stacks";
  const idOf = (key: number) => (isStacks ? functionOfNode(profile, idOfKey(key)) : idOfKey(key));
  const textOf = (id: number) => rowName(profile, isStacks ? "functions" : kind, id).text;
  const texts = new Map<number, string>();
  for (const key of keys) {
    const id = idOf(key);
    if (!texts.has(id)) texts.set(id, textOf(id));
  }
  const ranks = new Map([...new Set(texts.values())].sort().map((text, rank) => [text, rank]));
  const rankOf = new Map([...texts].map(([id, text]) => [id, ranks.get(text) ?? 0]));
  return new Float64Array(keys.length).map((_, i) => rankOf.get(idOf(keys[i])) ?? 0);
}

export function sortedKeys(
  profile: Profile,
  kind: Kind,
  keys: Int32Array,
  order: Order,
  /* null: the column has no values, and the order stays */
  column: Pick<ColumnSums, "keys" | "values"> | null,
): Int32Array {
  const isByName = order.column === "name";
  if (!isByName && !column) return keys;
  const by = column && !isByName ? valuesAt(column, keys) : nameRanks(profile, kind, keys);
  return pickIntegers(keys, sortedBy(keys.length, by, order.isDescending));
}
