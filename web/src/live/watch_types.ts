/*
 * What of the stacks of a watched process is of which type.
 */
import { grownFloats, grownInts } from "./grown.ts";
import type { WatchUpdate } from "./watch_events.ts";

/* In place of the number of a name: what was read, and has no type. */
export const NO_TYPE = -1;

interface TypeAmount {
  type: number;
  bytes: number;
  count: number;
}

/* Most stacks have one type or none: these are in arrays of numbers, as there may be a million. */
export class WatchTypes {
  /* By stack: 1 + the type if it has one, 0: it has none, -1: it has several. */
  private type = grownInts();
  private bytes = grownFloats();
  private counts = grownFloats();
  private several = new Map<number, TypeAmount[]>();

  take(rows: WatchUpdate["types"]): void {
    if (!rows) return;
    const { stack, type, live_bytes, live_count } = rows;
    for (let i = 0; i < stack.length;) {
      const begin = i;
      while (i < stack.length && stack[i] === stack[begin]) i++;
      this.set(stack[begin], i - begin, type[begin], live_bytes[begin], live_count[begin]);
      if (i - begin === 1) continue;
      const own = [];
      for (let k = begin; k < i; k++) {
        own.push({ type: type[k], bytes: live_bytes[k], count: live_count[k] });
      }
      this.several.set(stack[begin], own);
    }
  }

  private set(stack: number, rows: number, type: number, bytes: number, count: number): void {
    if (this.several.size > 0) this.several.delete(stack);
    const isAny = bytes > 0 || count > 0;
    this.type.set(stack, rows > 1 ? -1 : isAny ? type + 1 : 0);
    this.bytes.set(stack, bytes);
    this.counts.set(stack, count);
  }

  /* Calls `add` for each type of a stack that holds so much, and for what has none. */
  each(
    stack: number,
    wholeBytes: number,
    wholeCount: number,
    add: (type: number, bytes: number, count: number) => void,
  ): void {
    const type = stack < this.type.values.length ? this.type.values[stack] : 0;
    let bytes = wholeBytes;
    let count = wholeCount;
    if (type > 0) {
      add(type - 1, this.bytes.values[stack], this.counts.values[stack]);
      bytes -= this.bytes.values[stack];
      count -= this.counts.values[stack];
    } else if (type < 0) {
      for (const own of this.several.get(stack) ?? []) {
        add(own.type, own.bytes, own.count);
        bytes -= own.bytes;
        count -= own.count;
      }
    }
    /* Sums of fractions differ in their last digits. */
    if (bytes > 1e-9 * wholeBytes) add(NO_TYPE, bytes, count);
  }
}
