/*
 * What of the stacks of a watched process is of which type.
 */
import type { WatchUpdate } from "./watch_events.ts";

/* In place of the number of a name: what was read, and has no type. */
export const NO_TYPE = -1;

export interface TypeAmount {
  type: number;
  bytes: number;
  count: number;
}

export class WatchTypes {
  /* By stack; stacks without a type have none. */
  private ofStack = new Map<number, TypeAmount[]>();

  take(rows: WatchUpdate["types"]): void {
    if (!rows) return;
    const begun = new Set<number>();
    rows.stack.forEach((stack, i) => {
      if (!begun.has(stack)) this.ofStack.delete(stack);
      begun.add(stack);
      const amount = { type: rows.type[i], bytes: rows.live_bytes[i], count: rows.live_count[i] };
      if (amount.bytes <= 0 && amount.count <= 0) return;
      const own = this.ofStack.get(stack);
      if (own) own.push(amount);
      else this.ofStack.set(stack, [amount]);
    });
  }

  /* The types of a stack that holds so much, and what has none. */
  of(stack: number, whole: { bytes: number; count: number }): TypeAmount[] {
    const own = this.ofStack.get(stack) ?? [];
    const rest = { type: NO_TYPE, bytes: whole.bytes, count: whole.count };
    for (const { bytes, count } of own) {
      rest.bytes -= bytes;
      rest.count -= count;
    }
    /* Sums of fractions differ in their last digits. */
    return rest.bytes > 1e-9 * whole.bytes ? [...own, rest] : own;
  }
}
