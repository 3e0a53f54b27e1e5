/*
 * The difference of two sides, by function and by stack: what src/profile/analyse/diff.c computes,
 * for the snapshots and filters that the reader chose. test/e2e/test_page_diff.py compares the
 * figures with those of `heapscope diff --json`.
 *
 * Functions and stacks of both sides are the same if their functions have equal keys (the column
 * `same`, see docs/PAGE.md).
 */
import {
  columnsOf,
  figureAt,
  figuresBy,
  isLossy,
  newFigures,
  type Figures,
} from "../data/figures.ts";
import { changeOf, type Change, type Figure } from "../data/margin.ts";
import { functionOfNode } from "../data/names.ts";
import { FunctionClass, ROOT, type Profile } from "../data/profile.ts";
import { sameFunctions, sameNodes, type SameFunctions } from "../data/select_same.ts";
import { filterStacks, type Stacks } from "../data/select_stacks.ts";
import type { StackFilter } from "../data/select_filters.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import { isCumulative, weightOfSide } from "../data/two_sides.ts";
import { selectionOfSide, type Sides } from "./sides.ts";

type Both = readonly [Figures, Figures];

type PeakErrors = Pick<Figure, "peakExcess" | "peakLean" | "peakCommon" | "peakShort">;

export interface Comparison {
  same: SameFunctions;
  /* By key of a function: what it allocated, or what was allocated on its behalf. */
  self: Both;
  /* By key: with what it calls. */
  total: Both;
  /* By node of the tree: the stacks that end there; equal stacks have one node. */
  stacks: Both;
  /* One figure: all of it. */
  whole: Both;
  /* The node that stands for the same caller. */
  callerOf: (node: number) => number;
  /* The node of the function that a stack is accounted to. */
  headlineOf: (node: number) => number;
  /* The key of the function of a node. */
  keyOf: (node: number) => number;
  /* Margins hold on both sides. */
  hasMargins: boolean;
  isCumulative: boolean;
  weights: readonly [number, number];
  /* Those of the peak of all; null: none, or those of the figures. */
  peakErrors: readonly [PeakErrors | null, PeakErrors | null];
}

export interface Compared {
  /* A key of a function, or a node. */
  id: number;
  change: Change;
}

/*
 * The node of the function that a stack is accounted to: the innermost one of the program, else of
 * a library or a runtime. Reports pass over wrappers, too, which they find by the figures; two
 * profiles may have different ones, so comparisons do not (hs_agg_headline()).
 */
function accountable(profile: Profile, stacks: Stacks, node: number): number {
  const { class: classes, isWrapper } = profile.functions;
  let library = ROOT;
  for (let at = node; at !== ROOT; at = stacks.caller[at]) {
    const index = functionOfNode(profile, at);
    const kind = classes[index];
    if (kind === FunctionClass.Program || isWrapper[index] === 1) return at;
    const isLibrary = kind === FunctionClass.StandardLibrary || kind === FunctionClass.Runtime;
    if (isLibrary && library === ROOT) library = at;
  }
  return library === ROOT ? node : library;
}

/* For each row, the key of the function that it is accounted to; ROOT: the filters hide it. */
function keysOfRows(
  profile: Profile,
  stacks: Stacks,
  same: SameFunctions,
  { rows }: LoadedRows,
): Int32Array {
  return rows.node.map((node) => {
    const owner = stacks.owner[node];
    if (owner === ROOT) return ROOT;
    return same.keys[functionOfNode(profile, accountable(profile, stacks, owner))];
  });
}

function copyOf(figures: Figures): Figures {
  const { value, sampled, variance, weight, peak } = figures;
  return {
    value: value.slice(),
    sampled: sampled.slice(),
    variance: variance.slice(),
    weight: weight.slice(),
    peak: peak && {
      excess: peak.excess.slice(),
      lean: peak.lean.slice(),
      common: peak.common.slice(),
    },
  };
}

/* Adds key `k` of `from` to key `i` of `to`. */
function adder(to: Figures, from: Figures): (i: number, k: number) => void {
  const own = columnsOf(to);
  const other = columnsOf(from);
  return (i, k) => {
    for (let c = 0; c < own.length; c++) own[c][i] += other[c][k];
    if (from.weight[k] > to.weight[i]) to.weight[i] = from.weight[k];
  };
}

/* What each function holds with what it calls; a function that calls itself counts once. */
function totalsByFunction(
  stackFigures: Figures,
  callerOf: (node: number) => number,
  keyOf: (node: number) => number,
  keyCount: number,
): Figures {
  const sums = copyOf(stackFigures);
  const totals = newFigures(keyCount, sums.peak !== null);
  const addUp = adder(sums, sums);
  const addTotal = adder(totals, sums);
  for (let node = sums.value.length - 1; node >= 0; node--) {
    if (sums.value[node] === 0) continue;
    const key = keyOf(node);
    let outer = callerOf(node);
    while (outer !== ROOT && keyOf(outer) !== key) outer = callerOf(outer);
    if (outer === ROOT) addTotal(key, node);
    const caller = callerOf(node);
    if (caller !== ROOT) addUp(caller, node);
  }
  return totals;
}

function wholeOf(figures: Figures): Figures {
  const whole = newFigures(1, figures.peak !== null);
  const add = adder(whole, figures);
  for (let i = 0; i < figures.value.length; i++) if (figures.value[i] !== 0) add(0, i);
  return whole;
}

/*
 * The errors of the moment of a peak. They are not those of its parts added up: C computes them for
 * each process as a whole, and states the end of the interval that they make. Null for a part of
 * the memory, and for other measures.
 */
function peakErrorsOf(
  profile: Profile,
  loaded: readonly LoadedRows[],
  side: Selection,
  filters: readonly StackFilter[],
): PeakErrors | null {
  const isPart = side.heap !== null || filters.length > 0 || hasPartFilter(side);
  if (side.measure.name !== "peak" || isPart) return null;
  const errors = { peakExcess: 0, peakLean: 0, peakCommon: 0, peakShort: 0 };
  for (const each of loaded) {
    const { peak } = each.snapshot;
    const one = figuresBy(profile, [each], side, 1, ({ rows }) => new Int32Array(rows.count));
    errors.peakExcess += peak?.bytes_low === undefined ? 0 : peak.bytes - peak.bytes_low;
    errors.peakShort += each.snapshot.peak_short_bytes ?? 0;
    errors.peakCommon += Math.sqrt(figureAt(one, 0).variance);
  }
  return errors;
}

function hasPartFilter(selection: Selection): boolean {
  return Object.values(selection.parts).some((value) => value !== null);
}

export function compare(
  profile: Profile,
  sides: Sides,
  loaded: { before: readonly LoadedRows[]; after: readonly LoadedRows[] },
  selection: Selection,
  filters: readonly StackFilter[],
): Comparison {
  const { quantity } = selection.measure;
  const shown = filterStacks(profile, filters);
  const same = sameFunctions(profile, shown, [...loaded.after, ...loaded.before]);
  const numbers = sameNodes(same, shown);
  const callerOf = (node: number) => {
    const caller = shown.caller[node];
    return caller === ROOT ? ROOT : numbers[caller];
  };
  const keyOf = (node: number) => same.keys[functionOfNode(profile, node)];
  const nodesOf = ({ rows }: LoadedRows) =>
    rows.node.map((node) => (shown.owner[node] === ROOT ? ROOT : numbers[shown.owner[node]]));
  const each = <T>(make: (rows: readonly LoadedRows[], side: Selection) => T): [T, T] => [
    make(loaded.before, selectionOfSide(selection, sides.before)),
    make(loaded.after, selectionOfSide(selection, sides.after)),
  ];
  const stacks = each((rows, side) => figuresBy(profile, rows, side, profile.tree.count, nodesOf));
  const self = each((rows, side) =>
    figuresBy(profile, rows, side, same.count, (one) => keysOfRows(profile, shown, same, one)),
  );
  const total = (figures: Figures) => totalsByFunction(figures, callerOf, keyOf, same.count);
  return {
    same,
    self,
    total: [total(stacks[0]), total(stacks[1])],
    stacks,
    whole: [wholeOf(stacks[0]), wholeOf(stacks[1])],
    callerOf,
    headlineOf: (node) => numbers[accountable(profile, shown, node)],
    keyOf,
    hasMargins: !isLossy(profile, [...sides.before, ...sides.after]),
    isCumulative: isCumulative(profile, sides.before, sides.after, quantity),
    weights: each((rows, side) => weightOfSide(profile, rows, side)),
    peakErrors: each((rows, side) => peakErrorsOf(profile, rows, side, filters)),
  };
}

/* The change of one key of a pair of figures. */
export function changeAt(comparison: Comparison, [before, after]: Both, i: number): Change {
  const { weights } = comparison;
  const [early, late] = [figureAt(before, i), figureAt(after, i)];
  early.weight = Math.max(early.weight, weights[0]);
  late.weight = Math.max(late.weight, weights[1]);
  return changeOf(early, late, comparison.isCumulative);
}

/* The change of all of it. */
export function wholeChange(comparison: Comparison): Change {
  const [early, late] = comparison.whole.map((figures, side) => ({
    ...figureAt(figures, 0),
    weight: Math.max(figures.weight[0], comparison.weights[side]),
    ...comparison.peakErrors[side],
  }));
  return changeOf(early, late, comparison.isCumulative);
}

/* All keys that have something on one side, the largest change first. */
export function changesOf(comparison: Comparison, both: Both): Compared[] {
  const [before, after] = both;
  const list: Compared[] = [];
  for (let id = 0; id < before.value.length; id++) {
    if (before.value[id] <= 0 && after.value[id] <= 0) continue;
    list.push({ id, change: changeAt(comparison, both, id) });
  }
  const size = ({ change }: Compared) => change.before + change.after;
  return list.sort(
    (a, b) =>
      Math.abs(b.change.delta) - Math.abs(a.change.delta) || size(b) - size(a) || a.id - b.id,
  );
}
