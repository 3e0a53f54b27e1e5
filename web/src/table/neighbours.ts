/*
 * The callers and the callees of one function: for each, what the stacks hold in which it calls the
 * function, or is called by it.
 *
 * Ensures   a stack counts once for each caller and callee, however often they stand in it.
 */
import { newFigures, type Figures } from "../data/figures.ts";
import { addedColumns, type Entries } from "../data/part_figures.ts";
import type { Profile } from "../data/profile.ts";
import type { Stacks } from "../data/select_stacks.ts";

export interface Neighbours {
  /* By function. */
  callers: Figures;
  callees: Figures;
  /* [0]: the stacks with the function; [1]: what it allocated itself; [2]: outermost. */
  own: Figures;
}

export const TOTAL = 0;
export const SELF = 1;
export const OUTERMOST = 2;

interface Seen {
  callers: Int32Array;
  callees: Int32Array;
}

/* For each node, whether the function is on its path. */
function nodesUnder({ caller, functionOf }: Stacks, wanted: number): Uint8Array {
  const isUnder = new Uint8Array(caller.length);
  for (let node = 0; node < caller.length; node++) {
    const isBelow = caller[node] >= 0 && isUnder[caller[node]] === 1;
    if (isBelow || functionOf[node] === wanted) isUnder[node] = 1;
  }
  return isUnder;
}

export function neighboursOf(profile: Profile, entries: Entries, wanted: number): Neighbours {
  const { count } = profile.functions;
  const { figures, stacks } = entries;
  const { caller, functionOf } = stacks;
  const isPeak = figures.peak !== null;
  const isUnder = nodesUnder(stacks, wanted);
  const found: Neighbours = {
    callers: newFigures(count, isPeak),
    callees: newFigures(count, isPeak),
    own: newFigures(3, isPeak),
  };
  const from = addedColumns(figures);
  const adder = (to: Figures) => {
    const columns = addedColumns(to);
    return (key: number, entry: number) => {
      for (let c = 0; c < from.length; c++) columns[c][key] += from[c][entry];
      if (figures.weight[entry] > to.weight[key]) to.weight[key] = figures.weight[entry];
    };
  };
  const [addCaller, addCallee, addOwn] = [found.callers, found.callees, found.own].map(adder);
  /* The entry for which a function was added last: no set is needed for each stack. */
  const seen: Seen = {
    callers: new Int32Array(count).fill(-1),
    callees: new Int32Array(count).fill(-1),
  };
  for (let entry = 0; entry < entries.count; entry++) {
    const end = entries.node[entry];
    if (figures.value[entry] === 0 || isUnder[end] === 0) continue;
    addOwn(TOTAL, entry);
    for (let at = end, below = -1; at >= 0; below = at, at = caller[at]) {
      if (functionOf[at] !== wanted) continue;
      if (below < 0) addOwn(SELF, entry);
      else if (seen.callees[functionOf[below]] !== entry) {
        seen.callees[functionOf[below]] = entry;
        addCallee(functionOf[below], entry);
      }
      const up = caller[at];
      if (up < 0) addOwn(OUTERMOST, entry);
      else if (seen.callers[functionOf[up]] !== entry) {
        seen.callers[functionOf[up]] = entry;
        addCaller(functionOf[up], entry);
      }
    }
  }
  return found;
}

/* The functions with a figure, the largest first. */
export function largestFirst(figures: Figures): number[] {
  const found = [];
  for (let i = 0; i < figures.value.length; i++) if (figures.value[i] !== 0) found.push(i);
  return found.sort((a, b) => figures.value[b] - figures.value[a] || a - b);
}
