/*
 * A line through snapshots in words.
 */
import { signed, type RateUnit } from "../format.ts";
import type { Line } from "./lines.ts";

export type Format = (value: number) => string;

/* "+1.20 MiB a second" */
export function slopeText(line: Line, format: Format, unit: RateUnit): string {
  return `${signed(line.perSecond * unit.seconds, format)} ${unit.words}`;
}

/* "± 0.30 MiB", or "" where there is none. */
export function marginText(line: Line, format: Format, unit: RateUnit): string {
  const half = (line.high - line.low) / 2;
  return half > 1e-6 * Math.abs(line.perSecond) ? `± ${format(half * unit.seconds)}` : "";
}

/* "4 up, 1 down" */
export function stepsText(line: Line): string {
  return line.stepsDown === 0 ? `${line.stepsUp} up` : `${line.stepsUp} up, ${line.stepsDown} down`;
}
