/*
 * Sums of rows with what their margins need: for each node, function or other key the value, its
 * exact part, its variance and the most that one sample stands for. docs/PAGE.md ("Margins and
 * verdicts") says how each is summed up; margin.ts makes an interval of it.
 *
 * Ensures   addFigures() of two sets is the figure of both together, except that samples which
 *           processes share count as often as addRows() was told.
 */
import type { LoadedRows, Selection } from "./selection.ts";
import { chosenHeaps, matchingParts } from "./selection.ts";
import { countWeight, marginOf, type Figure, type Margin } from "./margin.ts";
import type { Snapshot, SnapshotHeap } from "./documents.ts";
import { ROOT, type Profile } from "./profile.ts";
import type { Amounts } from "./rows.ts";

export interface Figures {
  value: Float64Array;
  sampled: Float64Array;
  variance: Float64Array;
  weight: Float64Array;
  /* Errors of the moment of a peak in bytes; null for other measures. */
  peak: { excess: Float64Array; lean: Float64Array; common: Float64Array } | null;
}

export function newFigures(count: number, isPeak: boolean): Figures {
  const zeros = () => new Float64Array(count);
  return {
    value: zeros(),
    sampled: zeros(),
    variance: zeros(),
    weight: zeros(),
    peak: isPeak ? { excess: zeros(), lean: zeros(), common: zeros() } : null,
  };
}

/* The figure of one key. */
export function figureAt(figures: Figures, i: number): Figure {
  const { peak } = figures;
  const figure = {
    value: figures.value[i],
    sampled: figures.sampled[i],
    variance: figures.variance[i],
    weight: figures.weight[i],
  };
  if (!peak) return figure;
  return {
    ...figure,
    peakExcess: peak.excess[i],
    peakLean: peak.lean[i],
    peakCommon: peak.common[i],
  };
}

/* The columns that add up: all but the weight. */
export function columnsOf(figures: Figures): Float64Array[] {
  const { value, sampled, variance, peak } = figures;
  return [value, sampled, variance, ...(peak ? [peak.excess, peak.lean, peak.common] : [])];
}

/* Adds what key `from` of a set has to key `to` of another one, or of the same. */
export function addFigure(to: Figures, i: number, from: Figures, k: number): void {
  const [own, other] = [columnsOf(to), columnsOf(from)];
  for (let c = 0; c < own.length; c++) own[c][i] += other[c][k];
  if (from.weight[k] > to.weight[i]) to.weight[i] = from.weight[k];
}

/* What of the rows counts, for one snapshot. */
interface Factors {
  weight: Float64Array;
  hasSampleCounts: Uint8Array;
  excess: Float64Array;
  lean: Float64Array;
  common: Float64Array;
}

function factorsOf(profile: Profile, snapshot: Snapshot, isCount: boolean): Factors {
  const zeros = () => new Float64Array(profile.heaps.length);
  const factors = {
    weight: zeros(),
    hasSampleCounts: new Uint8Array(profile.heaps.length),
    excess: zeros(),
    lean: zeros(),
    common: zeros(),
  };
  for (const heap of snapshot.heaps) {
    const i = heap.heap;
    factors.weight[i] = weightOf(heap, snapshot, isCount);
    factors.hasSampleCounts[i] = isCount && heap.has_sample_counts ? 1 : 0;
    factors.excess[i] = heap.peak_excess;
    factors.lean[i] = heap.peak_lean;
    factors.common[i] = heap.peak_common;
  }
  return factors;
}

function weightOf(heap: SnapshotHeap, snapshot: Snapshot, isCount: boolean): number {
  if (isCount && heap.has_sample_counts) return 1;
  const weight = heap.weight_bytes ?? snapshot.weight_bytes;
  if (!(weight > 1)) return 0;
  return isCount ? countWeight(weight) : weight;
}

/* Processes that share samples or blocks, among those that are selected: docs/PAGE.md. */
interface Family {
  /* how many processes of its sample family were added before it */
  before: number;
  /* how many processes the largest descent family has: a block that no sample hit may be in each */
  descent: number;
}

export function familiesOf(profile: Profile, loaded: readonly LoadedRows[]): Family[] {
  const process = (each: LoadedRows) => profile.processes[each.snapshot.process];
  const counts = new Map<number, number>();
  for (const each of loaded) {
    const family = process(each).descent_family;
    counts.set(family, (counts.get(family) ?? 0) + 1);
  }
  const descent = Math.max(1, ...counts.values());
  return loaded.map((each) => {
    const own = process(each);
    const isEarlier = (other: LoadedRows) => {
      const start = process(other).start_ms ?? 0;
      const ownStart = own.start_ms ?? 0;
      return start < ownStart || (start === ownStart && other.index < each.index);
    };
    const sample = loaded.filter((other) => process(other).sample_family === own.sample_family);
    return { before: sample.filter(isEarlier).length, descent };
  });
}

/*
 * Adds the rows of one snapshot. keys[row] is the key that the row counts for; below 0: none. The
 * filters of the selection by thread, type, scope and age apply: a part has the exact part and the
 * variance of its row in proportion.
 */
export function addRows(
  figures: Figures,
  profile: Profile,
  each: LoadedRows,
  selection: Selection,
  keys: Int32Array,
  family: Family = { before: 0, descent: 1 },
): void {
  const { rows, snapshot } = each;
  const { quantity, isCount } = selection.measure;
  const amounts = rows[quantity];
  const shares = matchingParts(rows, selection);
  if (!amounts || shares === "unknown") return;
  const heaps = chosenHeaps(profile, snapshot, selection.heap);
  const factors = factorsOf(profile, snapshot, isCount);
  const columns = columnsFor(amounts, isCount);
  const inherited = isCount ? rows.inheritedCountVar : rows.inheritedBytesVar;
  const unit = isCount ? 1 : rows.bytesVarUnit;
  for (let row = 0; row < rows.count; row++) {
    const heap = rows.heap[row];
    const key = keys[row];
    const whole = columns.value.at(row);
    if (!heaps[heap] || key < 0 || whole === 0) continue;
    const value = shares === null ? whole : shares[row];
    if (value === 0) continue;
    const share = value / whole;
    let sampled = value - columns.exact.at(row) * share;
    let variance = columns.variance.at(row) * unit;
    if (inherited && family.before > 0) {
      const shared = inherited.isZero ? variance : Math.min(inherited.at(row), variance);
      variance += 2 * family.before * shared;
    }
    variance *= share;
    if (factors.hasSampleCounts[heap]) sampled = variance = value;
    figures.value[key] += value;
    figures.sampled[key] += sampled;
    figures.variance[key] += variance;
    const weight = factors.weight[heap] * family.descent;
    if (weight > figures.weight[key]) figures.weight[key] = weight;
    if (figures.peak) {
      figures.peak.excess[key] += factors.excess[heap] * sampled;
      figures.peak.lean[key] += factors.lean[heap] * sampled;
      figures.peak.common[key] += factors.common[heap] * sampled;
    }
  }
}

function columnsFor(amounts: Amounts, isCount: boolean) {
  return isCount
    ? { value: amounts.count, exact: amounts.exactCount, variance: amounts.countVar }
    : { value: amounts.bytes, exact: amounts.exactBytes, variance: amounts.bytesVar };
}

/* The figures of all selected snapshots by a key of each row, of which there are `count`. */
export function figuresBy(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
  count: number,
  keysOf: (each: LoadedRows) => Int32Array,
): Figures {
  const { quantity, isCount } = selection.measure;
  const figures = newFigures(count, quantity === "peak" && !isCount);
  const families = familiesOf(profile, loaded);
  loaded.forEach((each, i) =>
    addRows(figures, profile, each, selection, keysOf(each), families[i]),
  );
  return figures;
}

/* What the stacks hold that end at each node. */
export function figuresByNode(
  profile: Profile,
  loaded: readonly LoadedRows[],
  selection: Selection,
): Figures {
  return figuresBy(profile, loaded, selection, profile.tree.count, (each) => each.rows.node);
}

/* Each node with what the nodes below it hold. */
export function totalFigures(profile: Profile, self: Figures): Figures {
  const total = structuredClone(self);
  const { parent } = profile.tree;
  const columns = columnsOf(total);
  for (let i = parent.length - 1; i >= 0; i--) {
    const up = parent[i];
    if (up === ROOT) continue;
    for (const column of columns) column[up] += column[i];
    if (total.weight[i] > total.weight[up]) total.weight[up] = total.weight[i];
  }
  return total;
}

/* The margin of one key; null where no margin holds, because the file is lossy. */
export function marginAt(figures: Figures, i: number, isLossy: boolean): Margin | null {
  return isLossy ? null : marginOf(figureAt(figures, i));
}

/* Whether one of the files of these snapshots has figures that are lower bounds. */
export function isLossy(profile: Profile, snapshots: readonly number[]): boolean {
  const fileOf = (i: number) => profile.processes[profile.snapshots[i].process].file;
  return snapshots.some((i) => profile.files[fileOf(i)].is_lossy);
}
