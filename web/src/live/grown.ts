/*
 * Arrays of numbers that grow, with room in advance: a process may have a million stacks.
 */

type Numbers = Float64Array | Int32Array | Uint8Array;

export class Grown<T extends Numbers> {
  /* Zeros beyond what was set. */
  values: T;

  constructor(private make: (length: number) => T) {
    this.values = make(64);
  }

  reserve(length: number): void {
    if (length <= this.values.length) return;
    const larger = this.make(Math.max(length, 2 * this.values.length));
    larger.set(this.values);
    this.values = larger;
  }

  set(index: number, value: number): void {
    this.reserve(index + 1);
    this.values[index] = value;
  }
}

export const grownFloats = () => new Grown((length) => new Float64Array(length));
export const grownInts = () => new Grown((length) => new Int32Array(length));
export const grownBytes = () => new Grown((length) => new Uint8Array(length));
