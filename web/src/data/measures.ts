/*
 * What a view counts: live bytes, live objects, allocated bytes, allocations, bytes at the peak.
 * The names are those of `heapscope report --view`.
 */
import { bytes, count } from "../format.ts";
import type { Quantity } from "./documents.ts";

export type MeasureName = "space" | "objects" | "alloc_space" | "alloc_objects" | "peak";

export interface Measure {
  name: MeasureName;
  title: string;
  quantity: Quantity;
  isCount: boolean;
  format: (value: number | null | undefined) => string;
}

export const MEASURES: readonly Measure[] = [
  { name: "space", title: "Live memory", quantity: "live", isCount: false, format: bytes },
  { name: "objects", title: "Live objects", quantity: "live", isCount: true, format: count },
  { name: "peak", title: "Memory at the peak", quantity: "peak", isCount: false, format: bytes },
  {
    name: "alloc_space",
    title: "Allocated memory",
    quantity: "alloc",
    isCount: false,
    format: bytes,
  },
  {
    name: "alloc_objects",
    title: "Allocations",
    quantity: "alloc",
    isCount: true,
    format: count,
  },
];

export function measureOf(name: string | null | undefined): Measure {
  return MEASURES.find((measure) => measure.name === name) ?? MEASURES[0];
}
