/*
 * The numbers along the axes of the chart.
 */
import { bytes } from "../format.ts";

/* "8 s", "1:30", "2:00:00" */
export function timeTick(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds * 10) / 10} s`;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const tenths = Math.round(seconds * 10);
  const fraction = tenths % 10 === 0 ? "" : `.${tenths % 10}`;
  const minutes = Math.floor(tenths / 600);
  const rest = two((tenths % 600) / 10) + fraction;
  return minutes < 60
    ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
}

/* "48 MiB": the steps are powers of two, so that few digits are needed. */
export function sizeTick(size: number): string {
  return bytes(size).replace(/\.0+ /, " ");
}
