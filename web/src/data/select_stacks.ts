/*
 * What filters leave of the call tree: which nodes are shown, and for which shown node a stack
 * counts. It depends on the filters alone, so all views and measures share it.
 *
 * The rules are those of src/sql/flamegraph/flamegraph_filter.c, except for merged recursion, which
 * is ours: a function that calls itself, directly or through others, stands once on each path, and
 * what the inner call does is the outer call's.
 *
 *     main < walk < visit < walk < alloc    becomes    main < walk < alloc
 *                                                      main < walk < visit (its own memory)
 *
 * Holds     caller[i] < i, as in the profile's tree.
 */
import { ROOT, type Profile } from "./profile.ts";
import { matchingFunctions, type StackFilter } from "./select_filters.ts";

export interface Stacks {
  /* Of each node of the profile's tree: the shown node that its memory counts for; ROOT: none. */
  owner: Int32Array;
  /* Of a shown node: its nearest caller that is shown; ROOT: none. */
  caller: Int32Array;
  isShown: Uint8Array;
  /* Whether the graph, downwards, begins here. */
  isRoot: Uint8Array;
  /* It has a pivot: the graph also goes upwards from the roots. */
  hasPivot: boolean;
  functionOf: Int32Array;
}

interface Matches {
  /* By function. Bits of the patterns that must all match a stack. */
  show: Int32Array;
  hidesStack: Uint8Array;
  hidesFrame: Uint8Array;
  /* null: the graph begins at the outermost functions */
  begins: Uint8Array | null;
  all: number;
}

function matchAll(profile: Profile, filters: readonly StackFilter[]): Matches {
  const { count } = profile.functions;
  const matches: Matches = {
    show: new Int32Array(count),
    hidesStack: new Uint8Array(count),
    hidesFrame: new Uint8Array(count),
    begins: null,
    all: 0,
  };
  for (const { kind, pattern } of filters) {
    const found = matchingFunctions(profile, pattern);
    if (kind === "pivot" || kind === "from-frame") {
      matches.begins = found;
      continue;
    }
    const bit = kind === "show-stack" ? matches.all + 1 : 0;
    matches.all |= bit;
    for (let i = 0; i < count; i++) {
      if (found[i] === 0 || matches.hidesFrame[i] === 1) continue;
      if (kind === "show-stack") matches.show[i] |= bit;
      else if (kind === "hide-stack") matches.hidesStack[i] = 1;
      else matches.hidesFrame[i] = 1;
    }
  }
  return matches;
}

/* What is the same for all filters of a profile. */
interface Common {
  functionOf: Int32Array;
  /* Without filters, each node is its own owner, and all are shown. */
  everything: Stacks;
  /* What was asked for last, by its filters. */
  key: string;
  stacks: Stacks;
}

const commonOf = new WeakMap<Profile, Common>();

function functionsOfNodes(profile: Profile): Int32Array {
  const { count, frame } = profile.tree;
  const { function: functionOfFrame } = profile.frames;
  const functions = new Int32Array(count);
  for (let i = 0; i < count; i++) functions[i] = functionOfFrame[frame[i]];
  return functions;
}

function everythingOf(profile: Profile): Stacks {
  const { count, parent } = profile.tree;
  const owner = new Int32Array(count);
  const isRoot = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    owner[i] = i;
    if (parent[i] === ROOT) isRoot[i] = 1;
  }
  return {
    owner,
    caller: parent,
    isShown: new Uint8Array(count).fill(1),
    isRoot,
    hasPivot: false,
    functionOf: functionsOfNodes(profile),
  };
}

function common(profile: Profile): Common {
  let known = commonOf.get(profile);
  if (!known) {
    const everything = everythingOf(profile);
    known = { functionOf: everything.functionOf, everything, key: "", stacks: everything };
    commonOf.set(profile, known);
  }
  return known;
}

/* The caller of the same function that a recursive call is merged into; ROOT: there is none. */
function outerCall(stacks: Stacks, node: number, caller: number, isInside: boolean): number {
  const { functionOf, isRoot } = stacks;
  const wanted = functionOf[node];
  for (let at = caller; at !== ROOT; at = stacks.caller[at]) {
    if (functionOf[at] === wanted) return at;
    /* What a pivot calls is not merged into what calls the pivot. */
    if (isInside && isRoot[at] === 1) return ROOT;
  }
  return ROOT;
}

/* What the path to a node means for it: bits, so that a million of paths are quick to follow. */
const HIDDEN = 1;
const INSIDE = 2;

/* The same by function: HIDDEN hides the stack, INSIDE begins the graph. */
const FRAME_HIDDEN = 4;

function meaningOf({ hidesStack, hidesFrame, begins }: Matches): Uint8Array {
  return hidesStack.map((isHidden, i) => {
    const isInside = begins === null || (begins[i] === 1 && hidesFrame[i] === 0);
    return (isHidden ? HIDDEN : 0) | (isInside ? INSIDE : 0) | (hidesFrame[i] ? FRAME_HIDDEN : 0);
  });
}

/* For each node, whether its path has a function for each pattern that must match. */
function shownPaths({ tree }: Profile, functionOf: Int32Array, matches: Matches): Uint8Array {
  const { count, parent } = tree;
  const { show, all } = matches;
  const found = new Int32Array(count);
  const isKept = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    const up = parent[node];
    found[node] = show[functionOf[node]] | (up === ROOT ? 0 : found[up]);
    if (found[node] === all) isKept[node] = 1;
  }
  return isKept;
}

function madeOf(
  profile: Profile,
  filters: readonly StackFilter[],
  isRecursionMerged: boolean,
): Stacks {
  const { count, parent } = profile.tree;
  const { functionOf } = common(profile);
  const matches = matchAll(profile, filters);
  const meaning = meaningOf(matches);
  const isKept = matches.all === 0 ? null : shownPaths(profile, functionOf, matches);
  const hasStart = matches.begins !== null;
  const hasPivot = filters.some((filter) => filter.kind === "pivot");
  const owner = new Int32Array(count);
  const caller = new Int32Array(count);
  const isShown = new Uint8Array(count);
  const isRoot = new Uint8Array(count);
  const stacks = { owner, caller, isShown, isRoot, hasPivot, functionOf };
  const paths = new Uint8Array(count);
  /* The shown node that stands in the place of a node for what it calls. */
  const standIn = new Int32Array(count);
  for (let node = 0; node < count; node++) {
    const up = parent[node];
    const own = meaning[functionOf[node]];
    const before = up === ROOT ? 0 : paths[up];
    const path = (own & (HIDDEN | INSIDE)) | before;
    const wasInside = (before & INSIDE) !== 0;
    const isInside = (path & INSIDE) !== 0;
    const from = up === ROOT ? ROOT : standIn[up];
    const isThere = (own & FRAME_HIDDEN) === 0 && (isInside || hasPivot);
    const outer = isThere && isRecursionMerged ? outerCall(stacks, node, from, wasInside) : ROOT;
    const shown = isThere && (outer === ROOT || (isInside && !wasInside));
    const stand = shown ? node : isThere ? outer : from;
    paths[node] = path;
    isShown[node] = shown ? 1 : 0;
    caller[node] = from;
    standIn[node] = stand;
    isRoot[node] = shown && isInside && (hasStart ? !wasInside : from === ROOT) ? 1 : 0;
    const isOwned = path === INSIDE && (isKept === null || isKept[node] === 1);
    owner[node] = isOwned ? stand : ROOT;
  }
  return stacks;
}

/*
 * The stacks that the filters leave. The last answer is remembered, because all views and measures
 * share it.
 *
 * Ensures   nobody changes an answer: its arrays may be those of the profile.
 */
export function filterStacks(
  profile: Profile,
  filters: readonly StackFilter[],
  isRecursionMerged = false,
): Stacks {
  const known = common(profile);
  if (filters.length === 0 && !isRecursionMerged) return known.everything;
  const key = JSON.stringify([isRecursionMerged, filters]);
  if (known.key !== key) {
    known.stacks = madeOf(profile, filters, isRecursionMerged);
    known.key = key;
  }
  return known.stacks;
}

/* What nodes hold by themselves, by the node that is shown for them. */
export function placed(stacks: Stacks, self: Float64Array): Float64Array {
  const sums = new Float64Array(self.length);
  const { owner } = stacks;
  for (let i = 0; i < self.length; i++) {
    if (self[i] !== 0 && owner[i] !== ROOT) sums[owner[i]] += self[i];
  }
  return sums;
}

/* Adds to each shown node what the nodes that it calls hold. */
export function withCallees(stacks: Stacks, self: Float64Array): Float64Array {
  const total = self.slice();
  const { caller, isShown } = stacks;
  for (let i = total.length - 1; i >= 0; i--) {
    if (isShown[i] === 1 && caller[i] !== ROOT) total[caller[i]] += total[i];
  }
  return total;
}
