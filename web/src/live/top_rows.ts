/*
 * Which functions or stacks of a watched process the table lists.
 */
import type { FunctionRow, Row, WatchState } from "./watch_state.ts";

export type Kind = "functions" | "stacks";
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
  alloc: (row) => row.allocBytes,
};

function stackMatches(state: WatchState, stack: number, filter: string): boolean {
  return state
    .framesOf(stack)
    .some((frame) => state.functionName(frame).toLowerCase().includes(filter));
}

export function topRows(
  state: WatchState,
  { kind, heap, filter, sort }: TopChoice,
): { rows: (Row | FunctionRow)[]; leftOut: number } {
  const wanted = filter.trim().toLowerCase();
  const all: Row[] = kind === "functions" ? state.functions(heap) : state.stacks(heap);
  const isWanted = (row: Row) =>
    wanted === "" ||
    (kind === "functions"
      ? state.text(row.id).toLowerCase().includes(wanted)
      : stackMatches(state, row.id, wanted));
  const rows = all.filter((row) => (row.liveBytes > 0 || row.growth) && isWanted(row));
  rows.sort((a, b) => VALUE[sort](b) - VALUE[sort](a) || a.id - b.id);
  return { rows: rows.slice(0, ROWS_MAX), leftOut: Math.max(0, rows.length - ROWS_MAX) };
}
