/*
 * Columns of the data as typed arrays, checked: an index that leads nowhere is an error here, and
 * not a wrong name or an exception somewhere in a view.
 *
 * Fails     FormatError, whose message a reader of the page sees.
 */
import type { RawColumn, RawTable } from "./documents.ts";

export class FormatError extends Error {}

/* Small integers, which most figures are, take half the memory of others. */
type Values = Float64Array | Int32Array;

/* Figures: an array, or one value for all rows, which costs no memory. */
export class Column {
  constructor(
    private readonly values: Values | null,
    private readonly constant: number,
  ) {}

  /* Of what a worker sent, which has the fields of a column. */
  static from(sent: object): Column {
    const { values, constant } = sent as { values: Values | null; constant: number };
    return new Column(values, constant);
  }

  at(row: number): number {
    return this.values === null ? this.constant : this.values[row];
  }

  /* Whether no row has another value than 0. */
  get isZero(): boolean {
    return this.values === null && this.constant === 0;
  }

  /* Whether all rows have one value, which is below 0. */
  get isBelowZero(): boolean {
    return this.values === null && this.constant < 0;
  }

  /* The values of these rows. */
  pick(rows: Int32Array): Column {
    const { values, constant } = this;
    if (values === null) return this;
    const picked =
      values instanceof Int32Array ? pickIntegers(values, rows) : pickFigures(values, rows);
    return new Column(picked, constant);
  }
}

/* The same values in another order. Two loops: one for both kinds of arrays would be slow. */
export function pickIntegers(values: Int32Array, rows: Int32Array): Int32Array {
  const picked = new Int32Array(rows.length);
  for (let i = 0; i < rows.length; i++) picked[i] = values[rows[i]];
  return picked;
}

export function pickFigures(values: Float64Array, rows: Int32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) picked[i] = values[rows[i]];
  return picked;
}

export const ZERO = new Column(null, 0);

const isSmall = (value: number) => value === (value | 0);

/* A column of `count` values. */
function made(count: number, valueAt: (i: number) => number, constant = 0): Column {
  let at = 0;
  const small = new Int32Array(count);
  for (; at < count; at++) {
    const value = valueAt(at);
    if (!isSmall(value)) break;
    small[at] = value;
  }
  if (at === count) return new Column(small, constant);
  const values = new Float64Array(count);
  values.set(small.subarray(0, at));
  for (; at < count; at++) values[at] = valueAt(at);
  return new Column(values, constant);
}

/* The same of an array; most of the reading of a file happens here. */
function ofArray(values: readonly number[]): Column {
  const small = new Int32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!isSmall(value)) return new Column(new Float64Array(values), 0);
    small[i] = value;
  }
  return new Column(small, 0);
}

function checked(
  raw: RawColumn | undefined,
  count: number,
  name: string,
): readonly number[] | number {
  if (typeof raw === "number") return raw;
  if (!Array.isArray(raw)) throw new FormatError(`the column ${name} is missing`);
  if (raw.length !== count) {
    throw new FormatError(`the column ${name} has ${raw.length} values instead of ${count}`);
  }
  return raw;
}

export function figures(raw: RawColumn | undefined, count: number, name: string): Column {
  const values = checked(raw, count, name);
  return typeof values === "number" ? new Column(null, values) : ofArray(values);
}

/* The sum of two columns. */
export function sum(a: Column, b: Column, count: number): Column {
  if (a.isZero) return b;
  if (b.isZero) return a;
  return made(count, (i) => a.at(i) + b.at(i));
}

/* Where `part` is below 0, all of `whole`. */
export function partOf(part: Column, whole: Column, count: number): Column {
  if (part.isZero) return part;
  if (part.isBelowZero) return whole;
  return made(count, (i) => (part.at(i) < 0 ? whole.at(i) : part.at(i)));
}

/* The same, or null where the column was not recorded. */
export function figuresOrNull(
  raw: RawColumn | undefined,
  count: number,
  name: string,
): Column | null {
  return raw === null || raw === undefined ? null : figures(raw, count, name);
}

export function integers(raw: RawColumn | undefined, count: number, name: string): Int32Array {
  const values = checked(raw, count, name);
  return typeof values === "number" ? new Int32Array(count).fill(values) : new Int32Array(values);
}

export function integersOrNull(
  raw: RawColumn | undefined,
  count: number,
  name: string,
): Int32Array | null {
  return raw === null || raw === undefined ? null : integers(raw, count, name);
}

export function checkRange(values: Int32Array, limit: number, name: string, least = 0): void {
  for (let i = 0; i < values.length; i++) {
    if (values[i] < least || values[i] >= limit) {
      throw new FormatError(`row ${i} of ${name} is ${values[i]}, of ${limit}`);
    }
  }
}

/* Indices of a table with `limit` rows; `least` is the smallest number that stands for none. */
export function indices(
  raw: RawColumn | undefined,
  count: number,
  limit: number,
  name: string,
  least = 0,
): Int32Array {
  const values = integers(raw, count, name);
  checkRange(values, limit, name, least);
  return values;
}

export function indicesOrNull(
  raw: RawColumn | undefined,
  count: number,
  limit: number,
  name: string,
  least = 0,
): Int32Array | null {
  return raw === null || raw === undefined ? null : indices(raw, count, limit, name, least);
}

/* Adds up steps: the first value, then what each row adds to the one before. */
export function addUp<T extends Int32Array | Float64Array>(steps: T): T {
  for (let i = 1; i < steps.length; i++) steps[i] += steps[i - 1];
  return steps;
}

export function tableCount(table: RawTable | undefined, name: string): number {
  const count = table?.count;
  if (typeof count !== "number" || !Number.isInteger(count) || count < 0) {
    throw new FormatError(`the table ${name} is missing`);
  }
  return count;
}
