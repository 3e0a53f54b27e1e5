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

function functionsOfNodes(profile: Profile): Int32Array {
  const { count, frame } = profile.tree;
  const { function: functionOfFrame } = profile.frames;
  const functions = new Int32Array(count);
  for (let i = 0; i < count; i++) functions[i] = functionOfFrame[frame[i]];
  return functions;
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

/* What the path to a node means for it. */
interface Paths {
  show: Int32Array;
  isHidden: Uint8Array;
  isInside: Uint8Array;
  /* The shown node that stands in its place for what it calls. */
  standIn: Int32Array;
}

function newPaths(count: number): Paths {
  return {
    show: new Int32Array(count),
    isHidden: new Uint8Array(count),
    isInside: new Uint8Array(count),
    standIn: new Int32Array(count),
  };
}

export function filterStacks(
  profile: Profile,
  filters: readonly StackFilter[],
  isRecursionMerged = false,
): Stacks {
  const { count, parent } = profile.tree;
  const matches = matchAll(profile, filters);
  const { show, hidesStack, hidesFrame, begins, all } = matches;
  const stacks: Stacks = {
    owner: new Int32Array(count),
    caller: new Int32Array(count),
    isShown: new Uint8Array(count),
    isRoot: new Uint8Array(count),
    hasPivot: filters.some((filter) => filter.kind === "pivot"),
    functionOf: functionsOfNodes(profile),
  };
  const paths = newPaths(count);
  for (let node = 0; node < count; node++) {
    const up = parent[node];
    const func = stacks.functionOf[node];
    const wasInside = up !== ROOT && paths.isInside[up] === 1;
    const caller = up === ROOT ? ROOT : paths.standIn[up];
    const isFrameHidden = hidesFrame[func] === 1;
    const isInside = wasInside || begins === null || (begins[func] === 1 && !isFrameHidden);
    paths.show[node] = show[func] | (up === ROOT ? 0 : paths.show[up]);
    paths.isHidden[node] = hidesStack[func] | (up === ROOT ? 0 : paths.isHidden[up]);
    paths.isInside[node] = isInside ? 1 : 0;
    const isThere = !isFrameHidden && (isInside || stacks.hasPivot);
    const outer = isThere && isRecursionMerged ? outerCall(stacks, node, caller, wasInside) : ROOT;
    const isShown = isThere && (outer === ROOT || (isInside && !wasInside));
    stacks.isShown[node] = isShown ? 1 : 0;
    stacks.caller[node] = caller;
    paths.standIn[node] = isShown ? node : isThere ? outer : caller;
    const isFirst = begins === null ? caller === ROOT : !wasInside;
    stacks.isRoot[node] = isShown && isInside && isFirst ? 1 : 0;
    const isKept = isInside && paths.isHidden[node] === 0 && (paths.show[node] & all) === all;
    stacks.owner[node] = isKept ? paths.standIn[node] : ROOT;
  }
  return stacks;
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
