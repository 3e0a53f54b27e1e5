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
  private frameEnd = 0;
  /* Stacks are paths in a tree of calls, from number 1 on: by call, its frame and its caller, which
   * has a smaller number; 0: it has none. By stack, the innermost call. */
  private frame = grownInts();
  private caller = grownInts();
  callEnd = 1;
  private innermost = grownInts();
  private heap = grownBytes();
  /* By call: none of its callers is of the same function. Known up to a call, until functions of
   * frames change. */
  private isOutermost = grownBytes();
  private outermostEnd = 1;

  take({ frames, nodes, stacks }: WatchUpdate): void {
    if (frames.id.some((id) => id < this.frameEnd)) this.outermostEnd = 1;
    frames.id.forEach((id, i) => {
      this.frameEnd = Math.max(this.frameEnd, id + 1);
      this.frameFunction.set(id, frames.function[i]);
      this.frameModule.set(id, frames.module[i]);
      this.frameClass.set(id, frames.class[i]);
    });
    const callEnd = this.callEnd + nodes.frame.length;
    this.frame.reserve(callEnd);
    this.caller.reserve(callEnd);
    this.frame.values.set(nodes.frame, this.callEnd);
    this.caller.values.set(nodes.caller, this.callEnd);
    this.callEnd = callEnd;
    stacks.id.forEach((id, i) => {
      this.innermost.set(id, stacks.node[i]);
      this.heap.set(id, stacks.heap[i]);
      this.end = Math.max(this.end, id + 1);
    });
    this.count += stacks.id.length;
  }

  /* A stack has at least one frame. */
  isKnown(stack: number): boolean {
    return stack < this.end && this.innermost.values[stack] > 0;
  }

  heapOf(stack: number): number {
    return this.heap.values[stack];
  }

  /* The innermost first. */
  framesOf(stack: number): number[] {
    const frames: number[] = [];
    for (
      let call = this.isKnown(stack) ? this.innermost.values[stack] : 0;
      call > 0;
      call = this.caller.values[call]
    ) {
      frames.push(this.frame.values[call]);
    }
    return frames;
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
    let library = -1;
    let depth = 0;
    let call = this.isKnown(stack) ? this.innermost.values[stack] : 0;
    for (; call > 0; call = this.caller.values[call], depth++) {
      const classOf = this.frameClass.values[this.frame.values[call]];
      if (classOf === FunctionClass.Program) return depth;
      const isLibrary =
        classOf === FunctionClass.StandardLibrary || classOf === FunctionClass.Runtime;
      if (isLibrary && library < 0) library = depth;
    }
    return Math.max(0, library);
  }

  /* The frame that a stack is named after; a known stack has one. */
  headlineFrame(stack: number): number {
    let call = this.innermost.values[stack];
    for (let inside = this.headlineOf(stack); inside > 0; inside--) call = this.caller.values[call];
    return this.frame.values[call];
  }

  /* The innermost call of a known stack. */
  callOf(stack: number): number {
    return this.innermost.values[stack];
  }

  /* Adds the figures of each call to those of its caller, and then calls `add` for each call that
   * has no caller of the same function: with the function, the frame, and where the figures of the
   * call begin. So a stack counts once for a function, however often that occurs in it. Each call
   * has `width` figures, one behind the other; there is room for `callEnd` calls. */
  sumCalls(
    figures: Float64Array,
    width: number,
    add: (functionId: number, frame: number, first: number) => void,
  ): void {
    const frames = this.frame.values;
    const callers = this.caller.values;
    const functions = this.frameFunction.values;
    this.findOutermost();
    const isOutermost = this.isOutermost.values;
    for (let call = this.callEnd - 1; call > 0; call--) {
      const frame = frames[call];
      const first = call * width;
      const firstOfCaller = callers[call] * width;
      if (isOutermost[call] === 1) add(functions[frame], frame, first);
      for (let i = 0; i < width; i++) figures[firstOfCaller + i] += figures[first + i];
    }
  }

  private findOutermost(): void {
    const frames = this.frame.values;
    const callers = this.caller.values;
    const functions = this.frameFunction.values;
    this.isOutermost.reserve(this.callEnd);
    for (let call = this.outermostEnd; call < this.callEnd; call++) {
      const id = functions[frames[call]];
      let caller = callers[call];
      while (caller > 0 && functions[frames[caller]] !== id) caller = callers[caller];
      this.isOutermost.values[call] = Number(caller === 0);
    }
    this.outermostEnd = this.callEnd;
  }

  /* Tells which of the known stacks have a function that is marked with 1. Each call is looked at
   * once, not once for each stack that it is part of. */
  withMarked(marks: Uint8Array): (stack: number) => boolean {
    const frames = this.frame.values;
    const callers = this.caller.values;
    const functions = this.frameFunction.values;
    const isMarked = new Uint8Array(this.callEnd);
    for (let call = 1; call < this.callEnd; call++) {
      isMarked[call] = marks[functions[frames[call]]] === 1 ? 1 : isMarked[callers[call]];
    }
    return (stack) => isMarked[this.innermost.values[stack]] === 1;
  }
}
