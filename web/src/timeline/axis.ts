/*
 * Ticks of the axes: times as a reader says them, sizes as multiples of powers of two.
 */
import { bytes, count, duration } from "../format.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/* Distances of ticks, in milliseconds. */
export const TIME_STEPS: readonly number[] = [
  ...[0.001, 0.01, 0.1, 1, 10, 100].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * DAY),
];

export const SIZE_STEPS: readonly number[] = Array.from({ length: 60 }, (_, i) => 2 ** i);

/* As few digits as tell the ticks apart: "2 s", "2.5 s", "350 ms". */
export function timeTick(ms: number, step: number): string {
  if (ms === 0) return "0 s";
  if (step >= MINUTE || Math.abs(ms) >= HOUR) return duration(ms / 1000).replace(/ 00 \S+$/, "");
  if (Math.abs(ms) >= MINUTE && step >= SECOND) return duration(ms / 1000);
  if (step < 1) return `${ms.toFixed(step < 0.01 ? 3 : step < 0.1 ? 2 : 1)} ms`;
  if (step < SECOND && Math.abs(ms) < SECOND) return `${Math.round(ms)} ms`;
  const digits = step >= SECOND ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  return `${(ms / 1000).toFixed(digits)} s`;
}

const withoutZeros = (text: string) => text.replace(/\.0+(?=\s|$)/, "");

export function sizeTick(size: number): string {
  return withoutZeros(bytes(size));
}

export function countTick(value: number): string {
  return Number.isInteger(value) ? withoutZeros(count(value)) : String(Number(value.toFixed(2)));
}
