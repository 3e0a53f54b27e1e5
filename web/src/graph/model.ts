/*
 * What a flame graph shows: the call tree of a selection, with the figures of each box. Of a
 * comparison, also those before; then the width of a stack is the larger of its two values, so that
 * what is gone has a place, too.
 *
 * It is computed once for each choice of the reader. Zoom and search only read it.
 */
import { CallTree, pathOf, TreeColumn, type TreeNode } from "../data/call_tree.ts";
import { figuresBy, figuresByNode, type Figures } from "../data/figures.ts";
import { changeOf, type Change, type Figure } from "../data/margin.ts";
import { ROOT, type Profile } from "../data/profile.ts";
import type { StackFilter } from "../data/select_filters.ts";
import { matchingKeys, sameFunctions, sameNodes, type SameFunctions } from "../data/select_same.ts";
import { filterStacks, type Stacks } from "../data/select_stacks.ts";
import { selfByNode, type LoadedRows, type Selection } from "../data/selection.ts";
import { isCumulative, weightOfSide } from "../data/two_sides.ts";

export interface GraphSpec {
  profile: Profile;
  rows: readonly LoadedRows[];
  selection: Selection;
  /* What to compare with; null: nothing. */
  base: { rows: readonly LoadedRows[]; selection: Selection } | null;
  filters: readonly StackFilter[];
  direction: "down" | "up";
  isRecursionMerged: boolean;
}

/* The figures of one side of a comparison, by node, in a form that boxes can be made of. */
class Side {
  private readonly columns: Record<"value" | "sampled" | "variance", TreeColumn>;
  private readonly peak: Record<"excess" | "lean" | "common", TreeColumn> | null;

  constructor(
    private readonly tree: CallTree,
    figures: Figures,
    same: SameStacks,
    private readonly weight: number,
  ) {
    const column = (values: Float64Array) => new TreeColumn(tree.stacks, gathered(values, same));
    this.columns = {
      value: column(figures.value),
      sampled: column(figures.sampled),
      variance: column(figures.variance),
    };
    const { peak } = figures;
    this.peak = peak && {
      excess: column(peak.excess),
      lean: column(peak.lean),
      common: column(peak.common),
    };
  }

  figure(node: TreeNode): Figure {
    const total = (column: TreeColumn) => this.tree.totalOf(node, column);
    const figure = {
      value: total(this.columns.value),
      sampled: total(this.columns.sampled),
      variance: total(this.columns.variance),
      weight: this.weight,
    };
    if (!this.peak) return figure;
    return {
      ...figure,
      peakExcess: total(this.peak.excess),
      peakLean: total(this.peak.lean),
      peakCommon: total(this.peak.common),
    };
  }

  value(node: TreeNode): number {
    return this.tree.totalOf(node, this.columns.value);
  }
}

/* Which stacks of the two sides are the same, after filters. */
interface SameStacks {
  functions: SameFunctions;
  /* By node: the first one with the same stack. */
  numbers: Int32Array;
  owner: Int32Array;
  /* By shown node: the next one with the same stack; ROOT: none. */
  next: Int32Array;
}

function sameStacksOf(functions: SameFunctions, stacks: Stacks): SameStacks {
  const numbers = sameNodes(functions, stacks);
  const next = new Int32Array(numbers.length).fill(ROOT);
  const last = Int32Array.from(numbers.keys());
  for (let i = 0; i < numbers.length; i++) {
    if (numbers[i] === i) continue;
    next[last[numbers[i]]] = i;
    last[numbers[i]] = i;
  }
  return { functions, numbers, owner: stacks.owner, next };
}

/* Gives what filters leave of equal stacks to the first of them. */
function gathered(values: Float64Array, { numbers, owner }: SameStacks): Float64Array {
  const sums = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    if (values[i] !== 0 && owner[i] !== ROOT) sums[numbers[owner[i]]] += values[i];
  }
  return sums;
}

/* The stacks for a tree of gathered values: each node has its own. */
function withOwnValues(stacks: Stacks): Stacks {
  return { ...stacks, owner: stacks.owner.map((_, node) => node) };
}

function largerOf(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => Math.max(value, b[i]));
}

interface Sides {
  before: Side;
  after: Side;
  isCumulative: boolean;
}

export class GraphModel {
  readonly tree: CallTree;
  readonly stacks: Stacks;
  readonly profile: Profile;
  /* What the selection holds by node of the profile's tree, before filters. */
  readonly values: Float64Array;
  /* Of a comparison. */
  private readonly same: SameStacks | null;
  private readonly sides: Sides | null;
  private readonly changes = new Map<TreeNode, Change>();

  constructor(readonly spec: GraphSpec) {
    const { profile, rows, selection, base, filters, direction } = spec;
    this.profile = profile;
    this.stacks = filterStacks(profile, filters, spec.isRecursionMerged);
    this.values = selfByNode(profile, rows, selection);
    if (!base) {
      const { functionOf } = this.stacks;
      const { count } = profile.functions;
      this.tree = new CallTree(this.stacks, this.values, functionOf, count, direction);
      this.same = null;
      this.sides = null;
      return;
    }
    const functions = sameFunctions(profile, this.stacks, [...rows, ...base.rows]);
    const same = sameStacksOf(functions, this.stacks);
    const after = figuresByNode(profile, rows, selection);
    const before = figuresByNode(profile, base.rows, base.selection);
    const widths = largerOf(gathered(before.value, same), gathered(after.value, same));
    const keys = this.stacks.functionOf.map((index) => functions.keys[index]);
    const own = withOwnValues(this.stacks);
    this.tree = new CallTree(own, widths, keys, functions.count, direction);
    this.same = same;
    const side = (figures: Figures, of: readonly LoadedRows[], which: Selection) =>
      new Side(this.tree, figures, same, weightOfSide(profile, of, which));
    const [early, late] = [base.selection.snapshots, selection.snapshots];
    this.sides = {
      before: side(before, base.rows, base.selection),
      after: side(after, rows, selection),
      isCumulative: isCumulative(profile, early, late, selection.measure.quantity),
    };
  }

  get isComparison(): boolean {
    return this.sides !== null;
  }

  /* The function that a box names. */
  functionOf(node: TreeNode): number {
    return this.same ? this.same.functions.functionOf[node.key] : node.key;
  }

  /* By key of boxes: whether one of their functions matches. */
  matchingBoxes(matches: Uint8Array): Uint8Array {
    return this.same ? matchingKeys(this.same.functions, matches) : matches;
  }

  /* Values by node of the profile's tree, in a form that boxes can be made of. */
  columnOf(values: Float64Array): TreeColumn {
    return new TreeColumn(this.tree.stacks, this.same ? gathered(values, this.same) : values);
  }

  /* The nodes of the profile's tree that a box stands for, of both sides. */
  entriesOf(node: TreeNode): readonly number[] {
    const { same } = this;
    if (!same) return [...node.entries];
    const entries: number[] = [];
    for (const first of new Set([...node.entries].map((entry) => same.numbers[entry]))) {
      for (let at = first; at !== ROOT; at = same.next[at]) entries.push(at);
    }
    return entries;
  }

  /* The figure of a box, or of all that filters left, with what its margin needs. */
  figure(node: TreeNode | null): Figure {
    const { profile, rows, selection } = this.spec;
    const takes = node ? this.tree.covers(node) : this.takesAll();
    const figures = figuresBy(profile, rows, selection, 1, (each) =>
      each.rows.node.map((entry) => (takes(entry) ? 0 : -1)),
    );
    return {
      value: figures.value[0],
      sampled: figures.sampled[0],
      variance: figures.variance[0],
      weight: figures.weight[0],
      ...(figures.peak && {
        peakExcess: figures.peak.excess[0],
        peakLean: figures.peak.lean[0],
        peakCommon: figures.peak.common[0],
      }),
    };
  }

  private takesAll(): (entry: number) => boolean {
    const { owner } = this.stacks;
    return (entry) => owner[entry] !== ROOT;
  }

  /* How a box differs from before; null: nothing is compared. */
  change(node: TreeNode): Change | null {
    if (!this.sides) return null;
    let change = this.changes.get(node);
    if (!change) {
      const { before, after } = this.sides;
      change = changeOf(before.figure(node), after.figure(node), this.sides.isCumulative);
      this.changes.set(node, change);
    }
    return change;
  }

  /* The value of a box now; its width is larger where it had more before. */
  valueOf(node: TreeNode): number {
    return this.sides ? this.sides.after.value(node) : node.total;
  }

  /* Of a comparison: the sum of all that filters left before. */
  get totalBefore(): number | null {
    const { sides } = this;
    return sides && this.tree.roots.reduce((sum, root) => sum + sides.before.value(root), 0);
  }

  /* The sum of all that filters left. */
  get total(): number {
    const { tree } = this;
    return this.sides ? tree.roots.reduce((sum, root) => sum + this.valueOf(root), 0) : tree.total;
  }

  /* The box with this address (addressOf()), or the nearest one outside of it that is there. */
  find(address: string): TreeNode | null {
    const isUp = address.startsWith("u");
    const keys = address.replace(/^u/, "").split(".").filter(Boolean).map(Number);
    let found: TreeNode | null = null;
    let list = isUp ? this.tree.callers : this.tree.roots;
    for (const key of keys) {
      const next = list.find((node) => node.key === key);
      if (!next) break;
      found = next;
      list = this.tree.childrenOf(next);
    }
    return found;
  }
}

/* A box as text, for the address of the page: the keys on its path. */
export function addressOf(tree: CallTree, node: TreeNode | null): string {
  if (!node) return "";
  const keys = pathOf(node).map((each) => each.key);
  return (node.depth < 0 && tree.direction === "down" ? "u" : "") + keys.join(".");
}
