/*
 * What is known about a watched process: its stacks with their figures, which each update changes,
 * and sums of them by function.
 *
 * Growth is measured against the figures of five to ten seconds ago: of these, two copies are kept,
 * so that the memory has a limit of some 60 bytes a stack, however long a process is watched.
 */
import type { Ledger } from "../data/documents.ts";
import type { WatchUpdate } from "./watch_events.ts";
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

/* One number for each stack, in an array that grows. */
class Column {
  values = new Float64Array(64);

  set(index: number, value: number): void {
    if (index >= this.values.length) {
      const larger = new Float64Array(Math.max(index + 1, 2 * this.values.length));
      larger.set(this.values);
      this.values = larger;
    }
    this.values[index] = value;
  }

  at(index: number): number {
    return index < this.values.length ? this.values[index] : 0;
  }
}

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
  /* Of stacks whose innermost function it is. */
  ownBytes: number;
}

export class WatchState {
  update: WatchUpdate | null = null;
  /* What the resident memory consists of; null: nothing has come. */
  ledger: Ledger | null = null;
  private strings: string[] = [];
  private frameFunction: number[] = [];
  private frameModule: number[] = [];
  private stackFrames: (readonly number[])[] = [];
  private stackHeap: number[] = [];
  private columns: Record<Figure, Column> = {
    live_bytes: new Column(),
    live_count: new Column(),
    alloc_bytes: new Column(),
    alloc_count: new Column(),
  };
  private typed = new WatchTypes();
  private older: Base | null = null;
  private newer: Base | null = null;

  /* Ids of strings begin anew with each connection: then the state is a new one, too. */
  take(update: WatchUpdate): void {
    this.update = update;
    for (const text of update.strings) this.strings.push(text);
    const { frames, stacks, rows } = update;
    frames.id.forEach((id, i) => {
      this.frameFunction[id] = frames.function[i];
      this.frameModule[id] = frames.module[i];
    });
    stacks.id.forEach((id, i) => {
      this.stackFrames[id] = stacks.frames[i];
      this.stackHeap[id] = stacks.heap[i];
    });
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
    return this.stackFrames.length;
  }

  text(string: number): string {
    return this.strings[string] ?? "";
  }

  functionName(frame: number): string {
    return this.text(this.frameFunction[frame]) || "[no name]";
  }

  moduleName(frame: number): string {
    return this.text(this.frameModule[frame]).replace(/^.*\//, "");
  }

  /* Frames of a stack, the innermost first. */
  framesOf(stack: number): readonly number[] {
    return this.stackFrames[stack] ?? [];
  }

  heapOf(stack: number): string {
    return this.update?.heaps[this.stackHeap[stack]]?.name ?? "";
  }

  /* Whether a stack counts: of one heap, or of those that the total contains. */
  private isShown(stack: number, heap: number | null): boolean {
    const own = this.stackHeap[stack];
    return heap === null ? !this.update?.heaps[own]?.is_carved : own === heap;
  }

  private rowOf(id: number, base: Base | null): Row {
    const liveBytes = this.columns.live_bytes.at(id);
    const before = base && id < base.live.length ? base.live[id] : 0;
    const seconds = base && this.update ? (this.update.time_ms - base.timeMs) / 1000 : 0;
    return {
      id,
      liveBytes,
      liveCount: this.columns.live_count.at(id),
      allocBytes: this.columns.alloc_bytes.at(id),
      growth: base ? (liveBytes - before) / seconds : null,
    };
  }

  stacks(heap: number | null): Row[] {
    const rows: Row[] = [];
    const base = this.base();
    this.stackFrames.forEach((_, id) => {
      if (this.isShown(id, heap)) rows.push(this.rowOf(id, base));
    });
    return rows;
  }

  /* Sums of the stacks that a function occurs in, each stack once. */
  functions(heap: number | null): FunctionRow[] {
    const sums = new Map<number, FunctionRow>();
    for (const stack of this.stacks(heap)) {
      const seen = new Set<number>();
      this.framesOf(stack.id).forEach((frame, depth) => {
        const id = this.frameFunction[frame];
        if (seen.has(id)) return;
        seen.add(id);
        const sum = sums.get(id) ?? this.emptyRow(id, frame);
        sum.liveBytes += stack.liveBytes;
        sum.liveCount += stack.liveCount;
        sum.allocBytes += stack.allocBytes;
        if (depth === 0) sum.ownBytes += stack.liveBytes;
        if (stack.growth !== null) sum.growth = (sum.growth ?? 0) + stack.growth;
        sums.set(id, sum);
      });
    }
    return [...sums.values()];
  }

  /* Sums by type: the id is the number of its name, or NO_TYPE. Growth is that of all heaps. */
  types(heap: number | null): Row[] {
    const sums = new Map<number, Row>();
    const add = (id: number, liveBytes: number, liveCount: number) => {
      const sum = sums.get(id) ?? { id, liveBytes: 0, liveCount: 0, allocBytes: NaN, growth: null };
      sum.liveBytes += liveBytes;
      sum.liveCount += liveCount;
      sums.set(id, sum);
    };
    this.stackFrames.forEach((_, id) => {
      if (!this.isShown(id, heap)) return;
      const whole = {
        bytes: this.columns.live_bytes.at(id),
        count: this.columns.live_count.at(id),
      };
      for (const { type, bytes, count } of this.typed.of(id, whole)) add(type, bytes, count);
    });
    const base = heap === null ? this.base() : null;
    if (base && this.update) {
      const seconds = (this.update.time_ms - base.timeMs) / 1000;
      for (const row of sums.values()) {
        row.growth = (row.liveBytes - (base.types.get(row.id) ?? 0)) / seconds;
      }
    }
    return [...sums.values()];
  }

  private emptyRow(id: number, frame: number): FunctionRow {
    const zero = { liveBytes: 0, liveCount: 0, allocBytes: 0, ownBytes: 0 };
    return { id, module: this.frameModule[frame], growth: null, ...zero };
  }
}
