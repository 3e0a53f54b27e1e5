/*
 * The columns of figures: what each counts, and which are shown without being asked for.
 */
import { measureOf, type Measure, type MeasureName } from "../data/measures.ts";

export interface FigureColumn {
  key: string;
  title: string;
  hint: string;
  measure: Measure;
  /* With what was allocated in functions that the function called. */
  isTotal: boolean;
  isShownFirst: boolean;
}

const column = (
  key: string,
  title: string,
  hint: string,
  measure: MeasureName,
  isTotal: boolean,
  isShownFirst: boolean,
): FigureColumn => ({ key, title, hint, measure: measureOf(measure), isTotal, isShownFirst });

const SELF = "allocated by the function itself";
const TOTAL = "allocated by the function and by what it calls";

const OF_FUNCTIONS: readonly FigureColumn[] = [
  column("live", "Live, self", `Live memory, ${SELF}`, "space", false, true),
  column("live_total", "Live, total", `Live memory, ${TOTAL}`, "space", true, true),
  column("objects", "Objects, self", `Live objects, ${SELF}`, "objects", false, true),
  column(
    "alloc",
    "Allocated, self",
    `All memory, freed or not, ${SELF}`,
    "alloc_space",
    false,
    true,
  ),
  column(
    "alloc_total",
    "Allocated, total",
    `All memory, freed or not, ${TOTAL}`,
    "alloc_space",
    true,
    false,
  ),
  column(
    "allocs",
    "Allocations, self",
    `Allocations, freed or not, ${SELF}`,
    "alloc_objects",
    false,
    false,
  ),
  column("peak", "Peak, self", `Memory at the peak, ${SELF}`, "peak", false, true),
  column("peak_total", "Peak, total", `Memory at the peak, ${TOTAL}`, "peak", true, false),
];

const OF_OTHERS: readonly FigureColumn[] = [
  column("live", "Live", "Live memory", "space", false, true),
  column("objects", "Objects", "Live objects", "objects", false, true),
  column("alloc", "Allocated", "All memory, freed or not", "alloc_space", false, true),
  column("allocs", "Allocations", "Allocations, freed or not", "alloc_objects", false, true),
  column("peak", "Peak", "Memory at the peak", "peak", false, true),
];

/* The columns; those of the measure that the reader chose stand first. */
export function figureColumns(isOfFunctions: boolean, measure: Measure): readonly FigureColumn[] {
  const columns = isOfFunctions ? OF_FUNCTIONS : OF_OTHERS;
  const isChosen = (each: FigureColumn) => each.measure.quantity === measure.quantity;
  return [...columns.filter(isChosen), ...columns.filter((each) => !isChosen(each))];
}

/* The column of a measure, by which a table is sorted first. */
export function columnOfMeasure(measure: Measure): string {
  const found = OF_OTHERS.find((each) => each.measure.name === measure.name);
  return found?.key ?? "live";
}
