/*
 * Filters of stacks, with the meaning that they have in a flame graph of the Perfetto UI. They
 * stand in the address, one key `filter` each, and hold for all views. They are applied in their
 * order.
 *
 *     main < load < parse < alloc
 *
 *     show-stack:load     keeps the stack, because one of its functions matches
 *     hide-stack:load     removes it
 *     hide-frame:parse    main < load < alloc; what parse itself holds is load's, and no filter
 *                         behind this one sees parse
 *     from-frame:load     load < parse < alloc; stacks without a match are removed
 *     pivot:load          the same, and the callers of load in the other direction
 *
 * A pattern is text, which is searched for in the names of functions without regard to case, or a
 * regular expression between slashes: /^parse/, /^parse/i. With "in:" in front it is searched for
 * in the path of the module, or of the script, that a function is in.
 *
 * Ensures   a pattern that is no regular expression matches nothing, and says why.
 */
import type { Address } from "../state.ts";
import type { Profile } from "./profile.ts";

export const FILTER_KINDS = [
  "show-stack",
  "hide-stack",
  "from-frame",
  "hide-frame",
  "pivot",
] as const;
export type FilterKind = (typeof FILTER_KINDS)[number];

/* More than so many cannot be added: the patterns that a stack matches are bits of a number. */
export const FILTERS_MAX = 30;

export interface StackFilter {
  kind: FilterKind;
  pattern: string;
}

export const FILTER_TITLES: Readonly<Record<FilterKind, string>> = {
  "show-stack": "Show stack",
  "hide-stack": "Hide stack",
  "from-frame": "Show from frame",
  "hide-frame": "Hide frame",
  pivot: "Pivot",
};

function isKind(text: string): text is FilterKind {
  return (FILTER_KINDS as readonly string[]).includes(text);
}

export function filterText(filter: StackFilter): string {
  return `${filter.kind}:${filter.pattern}`;
}

export function parseFilter(text: string): StackFilter | null {
  const at = text.indexOf(":");
  const kind = text.slice(0, Math.max(at, 0));
  const pattern = text.slice(at + 1);
  return isKind(kind) && pattern !== "" ? { kind, pattern } : null;
}

/* The filters of the address, without those that nobody can read. */
export function filtersOf(address: Address): StackFilter[] {
  const read = address.all("filter").map(parseFilter);
  return read.filter((filter) => filter !== null).slice(0, FILTERS_MAX);
}

/* A graph begins at one frame at most: a new pivot or "show from frame" replaces the old one. */
const isView = (filter: StackFilter) => filter.kind === "from-frame" || filter.kind === "pivot";

/* The list with one filter more. */
export function withFilter(list: readonly StackFilter[], added: StackFilter): StackFilter[] {
  const text = filterText(added);
  const kept = list.filter((each) => filterText(each) !== text && !(isView(added) && isView(each)));
  return kept.length < FILTERS_MAX ? [...kept, added] : [...list];
}

/* The text of a pattern that matches this name alone. */
export function exactPattern(name: string): string {
  return `/^${name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}$/`;
}

export interface Pattern {
  test: (text: string) => boolean;
  /* Of what is in this module or script, not of what is called so. */
  isOfPlace: boolean;
  /* Why it matches nothing; null: it is well-formed. */
  error: string | null;
}

export function patternOf(text: string): Pattern {
  const isOfPlace = text.startsWith("in:");
  const wanted = isOfPlace ? text.slice(3) : text;
  const regex = /^\/(.+)\/(i?)$/s.exec(wanted);
  if (!regex) {
    const lower = wanted.toLowerCase();
    return { test: (each) => each.toLowerCase().includes(lower), isOfPlace, error: null };
  }
  try {
    const compiled = new RegExp(regex[1], regex[2] + "u");
    return { test: (each) => compiled.test(each), isOfPlace, error: null };
  } catch (error) {
    return { test: () => false, isOfPlace, error: (error as Error).message };
  }
}

function placeOf(profile: Profile, index: number): string {
  const { module, file } = profile.functions;
  if (file[index] > 0) return profile.strings[file[index]];
  return module[index] < 0 ? "" : profile.strings[profile.modules.path[module[index]]];
}

const found = new WeakMap<Profile, Map<string, Uint8Array>>();
const REMEMBERED = 40;

/* For each function, whether it matches. The answer is remembered. */
export function matchingFunctions(profile: Profile, text: string): Uint8Array {
  let known = found.get(profile);
  if (!known) found.set(profile, (known = new Map()));
  let matches = known.get(text);
  if (matches) return matches;
  const { count, name } = profile.functions;
  const pattern = patternOf(text);
  matches = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const searched = pattern.isOfPlace ? placeOf(profile, i) : profile.strings[name[i]];
    if (pattern.test(searched)) matches[i] = 1;
  }
  for (const oldest of known.keys()) {
    if (known.size < REMEMBERED) break;
    known.delete(oldest);
  }
  known.set(text, matches);
  return matches;
}
