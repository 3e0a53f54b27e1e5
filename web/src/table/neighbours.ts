/*
 * The callers and the callees of one function: for each, what the stacks hold in which it calls the
 * function, or is called by it.
 *
 * Ensures   a stack counts once for each caller and callee, however often they stand in it.
 */
import { newFigures, type Figures } from "../data/figures.ts";
import { addedColumns, sumsBy, type Entries } from "../data/part_figures.ts";
import type { Profile } from "../data/profile.ts";

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

export function neighboursOf(profile: Profile, entries: Entries, wanted: number): Neighbours {
  const { count } = profile.functions;
  const { caller, functionOf } = entries.stacks;
  const isPeak = entries.figures.peak !== null;
  const nodes = sumsBy(entries.figures, entries.count, profile.tree.count, (i) => entries.node[i]);
  const found: Neighbours = {
    callers: newFigures(count, isPeak),
    callees: newFigures(count, isPeak),
    own: newFigures(3, isPeak),
  };
  const from = addedColumns(nodes);
  const adder = (to: Figures) => {
    const columns = addedColumns(to);
    return (key: number, node: number) => {
      for (let c = 0; c < from.length; c++) columns[c][key] += from[c][node];
      if (nodes.weight[node] > to.weight[key]) to.weight[key] = nodes.weight[node];
    };
  };
  const [addCaller, addCallee, addOwn] = [found.callers, found.callees, found.own].map(adder);
  /* The node for which a function was added last: no set is needed for each stack. */
  const seen: Seen = {
    callers: new Int32Array(count).fill(-1),
    callees: new Int32Array(count).fill(-1),
  };
  for (let node = 0; node < profile.tree.count; node++) {
    if (nodes.value[node] === 0) continue;
    let isIn = false;
    let below = -1;
    for (let at = node; at >= 0; below = at, at = caller[at]) {
      if (functionOf[at] !== wanted) continue;
      isIn = true;
      if (below < 0) addOwn(SELF, node);
      else if (seen.callees[functionOf[below]] !== node) {
        seen.callees[functionOf[below]] = node;
        addCallee(functionOf[below], node);
      }
      const up = caller[at];
      if (up < 0) addOwn(OUTERMOST, node);
      else if (seen.callers[functionOf[up]] !== node) {
        seen.callers[functionOf[up]] = node;
        addCaller(functionOf[up], node);
      }
    }
    if (isIn) addOwn(TOTAL, node);
  }
  return found;
}

/* The functions with a figure, the largest first. */
export function largestFirst(figures: Figures): number[] {
  const found = [];
  for (let i = 0; i < figures.value.length; i++) if (figures.value[i] !== 0) found.push(i);
  return found.sort((a, b) => figures.value[b] - figures.value[a] || a - b);
}
