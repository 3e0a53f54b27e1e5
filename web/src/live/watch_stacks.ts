/*
 * The stacks of a watched process: which frames each has, and of which heap it is.
 */
import { FunctionClass } from "../data/profile.ts";
import { grownBytes, grownInts } from "./grown.ts";
import type { WatchUpdate } from "./watch_events.ts";

export class WatchStacks {
  /* How many are known, and one more than the largest id. */
  count = 0;
  end = 0;
  /* By frame: the numbers of the names of its function and module. */
  private frameFunction = grownInts();
  private frameModule = grownInts();
  private frameClass = grownBytes();
  /* Frames of all stacks, one behind the other, and by stack: where its own begin, and how many. */
  private frames = grownInts();
  private frameEnd = 0;
  private first = grownInts();
  private length = grownInts();
  private heap = grownBytes();

  take({ frames, stacks }: WatchUpdate): void {
    frames.id.forEach((id, i) => {
      this.frameFunction.set(id, frames.function[i]);
      this.frameModule.set(id, frames.module[i]);
      this.frameClass.set(id, frames.class[i]);
    });
    stacks.id.forEach((id, i) => {
      const own = stacks.frames[i];
      this.frames.reserve(this.frameEnd + own.length);
      this.frames.values.set(own, this.frameEnd);
      this.first.set(id, this.frameEnd);
      this.length.set(id, own.length);
      this.heap.set(id, stacks.heap[i]);
      this.frameEnd += own.length;
      this.count++;
      this.end = Math.max(this.end, id + 1);
    });
  }

  /* A stack has at least one frame. */
  isKnown(stack: number): boolean {
    return stack < this.end && this.length.values[stack] > 0;
  }

  heapOf(stack: number): number {
    return this.heap.values[stack];
  }

  framesOf(stack: number): Int32Array {
    if (!this.isKnown(stack)) return new Int32Array(0);
    const first = this.first.values[stack];
    return this.frames.values.subarray(first, first + this.length.values[stack]);
  }

  functionOf(frame: number): number {
    return this.frameFunction.values[frame];
  }

  moduleOf(frame: number): number {
    return this.frameModule.values[frame];
  }

  /* How many frames stand inside of the one that a stack is named after, and counts for: the
   * innermost one of the program; without one, of a language's library or runtime. */
  headlineOf(stack: number): number {
    const frames = this.framesOf(stack);
    let library = -1;
    for (let depth = 0; depth < frames.length; depth++) {
      const classOf = this.frameClass.values[frames[depth]];
      if (classOf === FunctionClass.Program) return depth;
      const isLibrary =
        classOf === FunctionClass.StandardLibrary || classOf === FunctionClass.Runtime;
      if (isLibrary && library < 0) library = depth;
    }
    return Math.max(0, library);
  }

  /* Calls `add` for each function of a stack once, the innermost first, with its frame. `marks` has
   * a place for each string; a function whose mark is `mark` was called already. */
  eachFunction(
    stack: number,
    marks: Int32Array,
    mark: number,
    add: (functionId: number, frame: number) => void,
  ): void {
    const frames = this.frames.values;
    const functions = this.frameFunction.values;
    const first = this.first.values[stack];
    const length = this.length.values[stack];
    for (let depth = 0; depth < length; depth++) {
      const frame = frames[first + depth];
      const id = functions[frame];
      if (marks[id] === mark) continue;
      marks[id] = mark;
      add(id, frame);
    }
  }

  /* Has a stack a function that is marked with 1? */
  hasMarked(stack: number, marks: Uint8Array): boolean {
    const frames = this.frames.values;
    const functions = this.frameFunction.values;
    const first = this.first.values[stack];
    const end = first + this.length.values[stack];
    for (let i = first; i < end; i++) {
      if (marks[functions[frames[i]]] === 1) return true;
    }
    return false;
  }
}
