/*
 * What is known about a watched process: its stacks with their figures, which each update changes,
 * and sums of them by function.
 *
 * Growth is measured against the figures of five to ten seconds ago: of these, two copies are kept,
 * so that the memory has a limit of some 60 bytes a stack, however long a process is watched.
 */
import type { Ledger } from "../data/documents.ts";
import { grownFloats } from "./grown.ts";
import type { WatchUpdate } from "./watch_events.ts";
import { WatchStacks } from "./watch_stacks.ts";
import { WatchTypes } from "./watch_types.ts";

/* How old the older figures are at least, before they are replaced. */
const BASE_MS = 5000;

export type Figure = "live_bytes" | "live_count" | "alloc_bytes" | "alloc_count";
export const FIGURES: readonly Figure[] = [
  "live_bytes",
  "live_count",
  "alloc_bytes",
  "alloc_count",
];

interface Base {
  timeMs: number;
  live: Float64Array;
  liveTotal: number;
  allocTotal: number;
  /* Live bytes by type. */
  types: ReadonlyMap<number, number>;
}

export interface Row {
  /* The stack, or the number of the function. */
  id: number;
  liveBytes: number;
  liveCount: number;
  /* NaN: not known, as of types. */
  allocBytes: number;
  /* Bytes a second; null: not known yet. */
  growth: number | null;
}

export interface FunctionRow extends Row {
  module: number;
  /* Of stacks that are named after it. */
  ownBytes: number;
}

export class WatchState {
  update: WatchUpdate | null = null;
  /* What the resident memory consists of; null: nothing has come. */
  ledger: Ledger | null = null;
  private strings: string[] = [];
  private known = new WatchStacks();
  private columns = {
    live_bytes: grownFloats(),
    live_count: grownFloats(),
    alloc_bytes: grownFloats(),
    alloc_count: grownFloats(),
  };
  private typed = new WatchTypes();
  private older: Base | null = null;
  private newer: Base | null = null;

  /* Ids of strings begin anew with each connection: then the state is a new one, too. */
  take(update: WatchUpdate): void {
    this.update = update;
    for (const text of update.strings) this.strings.push(text);
    const { rows } = update;
    this.known.take(update);
    for (const figure of FIGURES) {
      const values = rows[figure];
      rows.stack.forEach((id, i) => this.columns[figure].set(id, values[i]));
    }
    this.typed.take(update.types);
    if (!update.has_more) this.keepBase(update);
  }

  private keepBase(update: WatchUpdate): void {
    if (this.newer && update.time_ms - this.newer.timeMs < BASE_MS) return;
    this.older = this.newer;
    this.newer = {
      timeMs: update.time_ms,
      live: this.columns.live_bytes.values.slice(),
      liveTotal: update.process.live_bytes,
      allocTotal: update.process.alloc_bytes,
      types: new Map(this.types(null).map((row) => [row.id, row.liveBytes])),
    };
  }

  private base(): Base | null {
    const base = this.older ?? this.newer;
    return base && this.update && this.update.time_ms > base.timeMs ? base : null;
  }

  /* Bytes a second of the whole process: what lives, and what is allocated. */
  rates(): { live: number; alloc: number } | null {
    const base = this.base();
    if (!base || !this.update) return null;
    const seconds = (this.update.time_ms - base.timeMs) / 1000;
    const { live_bytes, alloc_bytes } = this.update.process;
    return {
      live: (live_bytes - base.liveTotal) / seconds,
      alloc: (alloc_bytes - base.allocTotal) / seconds,
    };
  }

  get stackCount(): number {
    return this.known.count;
  }

  get stringCount(): number {
    return this.strings.length;
  }

  text(string: number): string {
    return this.strings[string] ?? "";
  }

  functionName(frame: number): string {
    return this.text(this.known.functionOf(frame)) || "[no name]";
  }

  moduleName(frame: number): string {
    return this.text(this.known.moduleOf(frame)).replace(/^.*\//, "");
  }

  /* Frames of a stack, the innermost first. */
  framesOf(stack: number): number[] {
    return this.known.framesOf(stack);
  }

  /* How many of these stand inside of the one that the stack is named after. */
  headlineOf(stack: number): number {
    return this.known.headlineOf(stack);
  }

  heapOf(stack: number): string {
    return this.update?.heaps[this.known.heapOf(stack)]?.name ?? "";
  }

  /* Tells which stacks have a function whose number is marked with 1. */
  withMarked(marks: Uint8Array): (stack: number) => boolean {
    return this.known.withMarked(marks);
  }

  /* Calls `visit` for each stack that counts: of one heap, or of those that the total contains. */
  eachStack(heap: number | null, visit: (stack: number) => void): void {
    const heaps = this.update?.heaps ?? [];
    const isShown = Uint8Array.from(heaps, ({ is_carved }, i) =>
      Number(heap === null ? !is_carved : i === heap),
    );
    for (let id = 0; id < this.known.end; id++) {
      if (this.known.isKnown(id) && isShown[this.known.heapOf(id)] === 1) visit(id);
    }
  }

  /* A figure of a stack, without a row for each of them. */
  figureOf(stack: number, figure: Figure): number {
    const { values } = this.columns[figure];
    return stack < values.length ? values[stack] : 0;
  }

  /* Bytes that lived when growth begins to be measured; null: that is not known yet. */
  earlierOf(): ((stack: number) => number) | null {
    const base = this.base();
    return base ? (stack) => (stack < base.live.length ? base.live[stack] : 0) : null;
  }

  private seconds(base: Base): number {
    return this.update ? (this.update.time_ms - base.timeMs) / 1000 : 0;
  }

  rowOf(id: number): Row {
    const base = this.base();
    const liveBytes = this.figureOf(id, "live_bytes");
    const before = base && id < base.live.length ? base.live[id] : 0;
    return {
      id,
      liveBytes,
      liveCount: this.figureOf(id, "live_count"),
      allocBytes: this.figureOf(id, "alloc_bytes"),
      growth: base ? (liveBytes - before) / this.seconds(base) : null,
    };
  }

  /* Sums of the stacks that a function occurs in, each stack once. */
  functions(heap: number | null): FunctionRow[] {
    const sums: (FunctionRow | undefined)[] = new Array(this.strings.length);
    const found: FunctionRow[] = [];
    const base = this.base();
    const seconds = base ? this.seconds(base) : 0;
    const own = new Float64Array(this.strings.length);
    /* Of a call: how many stacks, bytes and blocks that live, bytes allocated, bytes that lived. */
    const width = 5;
    const figures = new Float64Array(width * this.known.callEnd);
    const { live_bytes, live_count, alloc_bytes } = this.columns;
    this.eachStack(heap, (stack) => {
      const first = width * this.known.callOf(stack);
      figures[first]++;
      figures[first + 1] += live_bytes.values[stack];
      figures[first + 2] += live_count.values[stack];
      figures[first + 3] += alloc_bytes.values[stack];
      if (base && stack < base.live.length) figures[first + 4] += base.live[stack];
      own[this.known.functionOf(this.known.headlineFrame(stack))] += live_bytes.values[stack];
    });
    this.known.sumCalls(figures, width, (id, frame, first) => {
      if (figures[first] === 0) return;
      let sum = sums[id];
      if (!sum) {
        sum = this.emptyRow(id, frame, base !== null);
        sum.ownBytes = own[id];
        sums[id] = sum;
        found.push(sum);
      }
      sum.liveBytes += figures[first + 1];
      sum.liveCount += figures[first + 2];
      sum.allocBytes += figures[first + 3];
      if (sum.growth !== null) sum.growth += (figures[first + 1] - figures[first + 4]) / seconds;
    });
    return found;
  }

  /* Sums by type: the id is the number of its name, or NO_TYPE. Growth is that of all heaps. */
  types(heap: number | null): Row[] {
    const sums = new Map<number, Row>();
    let last: Row | null = null;
    const add = (id: number, liveBytes: number, liveCount: number) => {
      if (last?.id !== id) {
        last = sums.get(id) ?? { id, liveBytes: 0, liveCount: 0, allocBytes: NaN, growth: null };
        sums.set(id, last);
      }
      last.liveBytes += liveBytes;
      last.liveCount += liveCount;
    };
    const bytes = this.columns.live_bytes.values;
    const counts = this.columns.live_count.values;
    this.eachStack(heap, (id) => {
      if (bytes[id] > 0) this.typed.each(id, bytes[id], counts[id], add);
    });
    const base = heap === null ? this.base() : null;
    if (base) {
      for (const row of sums.values()) {
        row.growth = (row.liveBytes - (base.types.get(row.id) ?? 0)) / this.seconds(base);
      }
    }
    return [...sums.values()];
  }

  private emptyRow(id: number, frame: number, hasGrowth: boolean): FunctionRow {
    const zero = { liveBytes: 0, liveCount: 0, allocBytes: 0, ownBytes: 0 };
    return { id, module: this.known.moduleOf(frame), growth: hasGrowth ? 0 : null, ...zero };
  }
}
