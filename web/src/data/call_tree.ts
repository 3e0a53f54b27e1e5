/*
 * The call tree that a flame graph shows, made of the stacks that filters leave (select_stacks.ts).
 *
 * A node stands for all nodes of the profile's tree that have the same keys (functions, as a rule)
 * on their paths. Downwards, its children are what it calls; upwards, its callers. Children are
 * made when somebody asks for them, so that a picture of a million stacks makes only what is large
 * enough to be seen. The sums are those of src/sql/flamegraph/flamegraph.c.
 *
 *     "down"    begins at the outermost functions; with a pivot or a first frame, at those
 *     "up"      begins at the functions that hold memory themselves (bottom-up)
 *     pivot     `roots` downwards, `callers` upwards from the same functions
 *
 * Holds     siblings are ordered by falling value, those of equal value as in the profile. The
 *           depth is 1, 2, ... downwards and -1, -2, ... upwards. The children of a node hold at
 *           most what it holds.
 */
import { ROOT } from "./profile.ts";
import { placed, withCallees, type Stacks } from "./select_stacks.ts";

export interface TreeNode {
  parent: TreeNode | null;
  key: number;
  depth: number;
  /* What it holds with what is behind it, and what it holds itself (upwards: at its start only). */
  total: number;
  self: number;
  /* The nodes of the profile's tree that it stands for. */
  entries: Int32Array;
  /* Upwards: how much of what the path began with came through each of them. */
  amounts: Float64Array | null;
  /* null: not made yet */
  children: TreeNode[] | null;
}

/* Other values than those that the tree was made of, by node of the profile's tree. */
export class TreeColumn {
  readonly self: Float64Array;
  readonly sums: Float64Array;
  /* Upwards: as TreeNode.amounts */
  readonly amounts = new Map<TreeNode, Float64Array>();

  constructor(stacks: Stacks, values: Float64Array) {
    this.self = placed(stacks, values);
    this.sums = withCallees(stacks, this.self);
  }
}

interface Group {
  key: number;
  total: number;
  nodes: number[];
  amounts: number[];
}

export class CallTree {
  readonly roots: TreeNode[];
  /* Of a pivot: the same functions, from which its callers go upwards. */
  readonly callers: TreeNode[];
  /* The sum of the roots. */
  readonly total: number;
  private readonly self: Float64Array;
  private readonly sums: Float64Array;
  private readonly firstCallee: Int32Array;
  private readonly callees: Int32Array;
  /* By key: the index of its group, valid if that group has this key. */
  private readonly groupOfKey: Int32Array;

  constructor(
    readonly stacks: Stacks,
    /* by node of the profile's tree: what its own rows hold */
    values: Float64Array,
    /* by node: nodes of equal keys are one */
    private readonly keys: Int32Array,
    keyCount: number,
    readonly direction: "down" | "up" = "down",
  ) {
    this.self = placed(stacks, values);
    this.sums = withCallees(stacks, this.self);
    this.groupOfKey = new Int32Array(keyCount).fill(-1);
    const { isShown, isRoot, hasPivot } = stacks;
    const nodes: number[] = [];
    const first = direction === "up" ? isShown : isRoot;
    const amounts = direction === "up" ? this.self : this.sums;
    for (let i = 0; i < first.length; i++) if (first[i] === 1 && amounts[i] !== 0) nodes.push(i);
    [this.firstCallee, this.callees] = this.listCallees();
    const of = (isUp: boolean) => this.group(null, nodes, (i) => amounts[nodes[i]], isUp);
    this.roots = of(direction === "up");
    this.callers = hasPivot && direction === "down" ? of(true) : [];
    this.total = this.roots.reduce((sum, root) => sum + root.total, 0);
  }

  childrenOf(node: TreeNode): TreeNode[] {
    if (!node.children) node.children = node.depth > 0 ? this.down(node) : this.up(node);
    return node.children;
  }

  /* What the node holds of another column, with what is behind it. */
  totalOf(node: TreeNode, column: TreeColumn): number {
    let total = 0;
    if (node.depth > 0) for (const entry of node.entries) total += column.sums[entry];
    else for (const amount of this.amountsOf(node, column)) total += amount;
    return total;
  }

  private amountsOf(node: TreeNode, column: TreeColumn): Float64Array {
    const known = column.amounts.get(node);
    if (known) return known;
    const { parent } = node;
    if (!parent) {
      const from = this.direction === "up" ? column.self : column.sums;
      column.amounts.set(
        node,
        Float64Array.from(node.entries, (entry) => from[entry]),
      );
    } else {
      const came = this.comeFrom(parent, this.amountsOf(parent, column));
      for (const sibling of parent.children ?? [node]) {
        const amounts = Float64Array.from(sibling.entries, (entry) => came.get(entry) ?? 0);
        column.amounts.set(sibling, amounts);
      }
    }
    return column.amounts.get(node) ?? new Float64Array(0);
  }

  /* Upwards: what came through each caller of the node. */
  private comeFrom(node: TreeNode, amounts: Float64Array): Map<number, number> {
    const { caller } = this.stacks;
    const came = new Map<number, number>();
    node.entries.forEach((entry, i) => {
      const at = caller[entry];
      if (at !== ROOT) came.set(at, (came.get(at) ?? 0) + amounts[i]);
    });
    return came;
  }

  /*
   * Which nodes of the profile's tree count for this one: those whose rows it adds up. Makes one
   * pass over all of them.
   */
  covers(node: TreeNode): (entry: number) => boolean {
    const { owner, caller } = this.stacks;
    const chain: number[] = [];
    for (let at: TreeNode | null = node; at; at = at.parent) chain.unshift(at.key);
    const isBelow = new Uint8Array(owner.length);
    if (node.depth > 0) {
      for (const entry of node.entries) isBelow[entry] = 1;
    } else {
      for (let i = 0; i < owner.length; i++) if (this.isOnPath(i, chain)) isBelow[i] = 1;
    }
    if (node.depth > 0 || this.direction === "down") {
      for (let i = 0; i < owner.length; i++) {
        if (this.stacks.isShown[i] && caller[i] !== ROOT && isBelow[caller[i]]) isBelow[i] = 1;
      }
    }
    return (entry) => owner[entry] !== ROOT && isBelow[owner[entry]] === 1;
  }

  /* Whether an upward path begins at this node and has these keys. */
  private isOnPath(start: number, chain: readonly number[]): boolean {
    const { isShown, isRoot, caller } = this.stacks;
    if (isShown[start] === 0 || (this.direction === "down" && isRoot[start] === 0)) return false;
    let at = start;
    for (const key of chain) {
      if (at === ROOT || this.keys[at] !== key) return false;
      at = caller[at];
    }
    return true;
  }

  private listCallees(): [Int32Array, Int32Array] {
    const { caller, isShown } = this.stacks;
    const count = caller.length;
    const first = new Int32Array(count + 1);
    const isCallee = (i: number) => isShown[i] === 1 && caller[i] !== ROOT && this.sums[i] !== 0;
    for (let i = 0; i < count; i++) if (isCallee(i)) first[caller[i] + 1]++;
    for (let i = 0; i < count; i++) first[i + 1] += first[i];
    const callees = new Int32Array(first[count]);
    const next = first.slice();
    for (let i = 0; i < count; i++) if (isCallee(i)) callees[next[caller[i]]++] = i;
    return [first, callees];
  }

  private down(node: TreeNode): TreeNode[] {
    const nodes: number[] = [];
    for (const entry of node.entries) {
      for (let at = this.firstCallee[entry]; at < this.firstCallee[entry + 1]; at++) {
        nodes.push(this.callees[at]);
      }
    }
    return this.group(node, nodes, (i) => this.sums[nodes[i]], false);
  }

  private up(node: TreeNode): TreeNode[] {
    const came = this.comeFrom(node, node.amounts ?? new Float64Array(0));
    const values = [...came.values()];
    return this.group(node, [...came.keys()], (i) => values[i], true);
  }

  /* Makes one node of all that have the same key. */
  private group(
    parent: TreeNode | null,
    nodes: readonly number[],
    amountOf: (index: number) => number,
    isUp: boolean,
  ): TreeNode[] {
    const groups: Group[] = [];
    nodes.forEach((node, i) => {
      const key = this.keys[node];
      const seen = this.groupOfKey[key];
      let group = seen >= 0 && seen < groups.length ? groups[seen] : undefined;
      if (group?.key !== key) {
        group = { key, total: 0, nodes: [], amounts: [] };
        this.groupOfKey[key] = groups.length;
        groups.push(group);
      }
      const amount = amountOf(i);
      group!.total += amount;
      group!.nodes.push(node);
      if (isUp) group!.amounts.push(amount);
    });
    groups.sort((a, b) => b.total - a.total);
    const depth = (parent?.depth ?? 0) + (isUp ? -1 : 1);
    return groups.map((group) => ({
      parent,
      key: group.key,
      depth,
      total: group.total,
      self: this.selfOfGroup(group, depth),
      entries: Int32Array.from(group.nodes),
      amounts: isUp ? Float64Array.from(group.amounts) : null,
      children: null,
    }));
  }

  private selfOfGroup(group: Group, depth: number): number {
    if (depth < 0) return depth === -1 ? group.total : 0;
    let self = 0;
    for (const node of group.nodes) self += this.self[node];
    return self;
  }
}

/* The path from the outermost node of the tree to this one. */
export function pathOf(node: TreeNode): TreeNode[] {
  const path: TreeNode[] = [];
  for (let at: TreeNode | null = node; at; at = at.parent) path.unshift(at);
  return path;
}

/*
 * Calls `visit` for each node of the tree, or of the part behind `from`, a node before its
 * children. Makes all of them.
 */
export function walk(
  tree: CallTree,
  visit: (node: TreeNode) => void,
  from: TreeNode | null = null,
): void {
  const open = from ? [from] : [...tree.roots, ...tree.callers].reverse();
  for (let node = open.pop(); node; node = open.pop()) {
    visit(node);
    const children = tree.childrenOf(node);
    for (let i = children.length - 1; i >= 0; i--) open.push(children[i]);
  }
}

/* For each function: what it holds itself, and with what it calls; recursion counts once. */
export function functionTotals(
  stacks: Stacks,
  values: Float64Array,
  functionCount: number,
): { self: Float64Array; total: Float64Array } {
  const own = placed(stacks, values);
  const sums = withCallees(stacks, own);
  const self = new Float64Array(functionCount);
  const total = new Float64Array(functionCount);
  const { caller, isShown, functionOf } = stacks;
  for (let i = 0; i < own.length; i++) {
    if (isShown[i] === 0 || sums[i] === 0) continue;
    const wanted = functionOf[i];
    self[wanted] += own[i];
    let at = caller[i];
    while (at !== ROOT && functionOf[at] !== wanted) at = caller[at];
    if (at === ROOT) total[wanted] += sums[i];
  }
  return { self, total };
}
