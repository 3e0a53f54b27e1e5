/*
 * Which functions, stacks or types of a watched process the table lists.
 */
import type { FunctionRow, Row, WatchState } from "./watch_state.ts";
import { NO_TYPE } from "./watch_types.ts";

export const KINDS = ["functions", "stacks", "types"] as const;
export type Kind = (typeof KINDS)[number];
export type TopSort = "live" | "growth" | "blocks" | "alloc";

export const FRAMES_SHOWN = 100;
const ROWS_MAX = 100;

export interface TopChoice {
  kind: Kind;
  /* The index of a heap; null: those that the total contains. */
  heap: number | null;
  filter: string;
  sort: TopSort;
}

const VALUE: Record<TopSort, (row: Row) => number> = {
  live: (row) => row.liveBytes,
  growth: (row) => row.growth ?? 0,
  blocks: (row) => row.liveCount,
  alloc: (row) => row.allocBytes || 0,
};

function stackMatches(state: WatchState, stack: number, filter: string): boolean {
  return state
    .framesOf(stack)
    .some((frame) => state.functionName(frame).toLowerCase().includes(filter));
}

export function typeName(state: WatchState, id: number): string {
  return id === NO_TYPE ? "(unknown)" : state.text(id);
}

function rowsOf(state: WatchState, kind: Kind, heap: number | null): Row[] {
  if (kind === "functions") return state.functions(heap);
  return kind === "stacks" ? state.stacks(heap) : state.types(heap);
}

function matches(state: WatchState, kind: Kind, row: Row, wanted: string): boolean {
  if (kind === "stacks") return stackMatches(state, row.id, wanted);
  const name = kind === "types" ? typeName(state, row.id) : state.text(row.id);
  return name.toLowerCase().includes(wanted);
}

export function topRows(
  state: WatchState,
  { kind, heap, filter, sort }: TopChoice,
): { rows: (Row | FunctionRow)[]; leftOut: number } {
  const wanted = filter.trim().toLowerCase();
  const all = rowsOf(state, kind, heap);
  const isWanted = (row: Row) => wanted === "" || matches(state, kind, row, wanted);
  const rows = all.filter((row) => (row.liveBytes > 0 || row.growth) && isWanted(row));
  rows.sort((a, b) => VALUE[sort](b) - VALUE[sort](a) || a.id - b.id);
  return { rows: rows.slice(0, ROWS_MAX), leftOut: Math.max(0, rows.length - ROWS_MAX) };
}
