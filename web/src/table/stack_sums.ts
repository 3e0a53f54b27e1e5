/*
 * What each stack holds. Of a million stacks only the values are kept, by which a table is sorted;
 * what a margin needs besides is added up for the rows that somebody looks at.
 *
 * Stacks have places here: their numbers in the list of those that have rows, which are fewer than
 * the nodes of the tree.
 */
import { figuresBy, type Figures } from "../data/figures.ts";
import { pickRows } from "../data/pick_rows.ts";
import type { Profile } from "../data/profile.ts";
import type { Stacks } from "../data/select_stacks.ts";
import { chosenHeaps, matchingParts, type LoadedRows, type Selection } from "../data/selection.ts";

export class StackPlaces {
  /* The shown nodes that rows count for, in ascending order. */
  readonly nodes: Int32Array;
  /* The place of each row, of all snapshots one after the other; -1: filters leave it out. */
  private readonly ofRow: Int32Array;
  /* The rows of each place: list[first[place]] and so on. Made when they are needed. */
  private first: Int32Array | null = null;
  private list: Int32Array | null = null;

  constructor(
    private readonly profile: Profile,
    private readonly loaded: readonly LoadedRows[],
    { owner }: Stacks,
  ) {
    const placeOf = new Int32Array(owner.length).fill(-1);
    for (const { rows } of loaded) {
      for (let row = 0; row < rows.count; row++) {
        const node = owner[rows.node[row]];
        if (node >= 0) placeOf[node] = 0;
      }
    }
    let count = 0;
    for (let node = 0; node < placeOf.length; node++) {
      if (placeOf[node] === 0) placeOf[node] = count++;
    }
    this.nodes = new Int32Array(count);
    for (let node = 0; node < placeOf.length; node++) {
      if (placeOf[node] >= 0) this.nodes[placeOf[node]] = node;
    }
    this.ofRow = new Int32Array(loaded.reduce((sum, { rows }) => sum + rows.count, 0));
    let at = 0;
    for (const { rows } of loaded) {
      for (let row = 0; row < rows.count; row++) {
        const node = owner[rows.node[row]];
        this.ofRow[at++] = node < 0 ? -1 : placeOf[node];
      }
    }
  }

  /* The values by place, and their sum. */
  values(selection: Selection): { values: Float64Array; whole: number } {
    const values = new Float64Array(this.nodes.length);
    const { quantity, isCount } = selection.measure;
    let whole = 0;
    let before = 0;
    for (const { rows, snapshot } of this.loaded) {
      const amounts = rows[quantity];
      const shares = matchingParts(rows, selection);
      const heaps = chosenHeaps(this.profile, snapshot, selection.heap);
      const from = before;
      before += rows.count;
      if (!amounts || shares === "unknown") continue;
      const column = isCount ? amounts.count : amounts.bytes;
      for (let row = 0; row < rows.count; row++) {
        const place = this.ofRow[from + row];
        if (place < 0 || heaps[rows.heap[row]] === 0) continue;
        const value = shares === null ? column.at(row) : shares[row];
        values[place] += value;
        whole += value;
      }
    }
    return { values, whole };
  }

  private listRows(): [Int32Array, Int32Array] {
    if (this.first && this.list) return [this.first, this.list];
    const { ofRow, nodes } = this;
    const first = new Int32Array(nodes.length + 1);
    for (const place of ofRow) if (place >= 0) first[place + 1]++;
    for (let place = 0; place < nodes.length; place++) first[place + 1] += first[place];
    const list = new Int32Array(first[nodes.length]);
    for (let row = 0; row < ofRow.length; row++) {
      if (ofRow[row] >= 0) list[first[ofRow[row]]++] = row;
    }
    /* Each entry has moved to the end of its rows, where those of the next place begin. */
    first.copyWithin(1, 0, nodes.length);
    first[0] = 0;
    [this.first, this.list] = [first, list];
    return [first, list];
  }

  /* The snapshots with the rows of this place alone. */
  private rowsAt(place: number): LoadedRows[] {
    const [first, list] = this.listRows();
    const wanted = list.subarray(first[place], first[place + 1]);
    let before = 0;
    return this.loaded.map((each) => {
      const { rows } = each;
      const own = wanted.filter((row) => row >= before && row < before + rows.count);
      const picked = own.map((row) => row - before);
      before += rows.count;
      return { ...each, rows: pickRows(rows, picked) };
    });
  }

  /* The figure of the stack that ends at this node, at index 0. */
  figure(node: number, selection: Selection): Figures {
    let [from, to] = [0, this.nodes.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.nodes[middle] < node) from = middle + 1;
      else to = middle;
    }
    const rows = this.nodes[from] === node ? this.rowsAt(from) : [];
    return figuresBy(this.profile, rows, selection, 1, (each) => new Int32Array(each.rows.count));
  }
}
