/*
 * Which functions, stacks or types of a watched process the table lists.
 */
import type { FunctionRow, Row, WatchState } from "./watch_state.ts";
import { NO_TYPE } from "./watch_types.ts";

export const KINDS = ["functions", "stacks", "types"] as const;
export type Kind = (typeof KINDS)[number];
export type TopSort = "self" | "live" | "growth" | "blocks" | "alloc";

export const FRAMES_SHOWN = 100;
const ROWS_MAX = 100;

export interface TopChoice {
  kind: Kind;
  /* The index of a heap; null: those that the total contains. */
  heap: number | null;
  filter: string;
  sort: TopSort;
}

/* Only a function has a figure of its own: what a stack or a type has is all its own. */
const FIGURE = {
  self: "live_bytes",
  live: "live_bytes",
  blocks: "live_count",
  alloc: "alloc_bytes",
} as const;
const VALUE: Record<TopSort, (row: Row) => number> = {
  self: (row) => (row as Partial<FunctionRow>).ownBytes ?? row.liveBytes,
  live: (row) => row.liveBytes,
  growth: (row) => row.growth ?? 0,
  blocks: (row) => row.liveCount,
  alloc: (row) => row.allocBytes || 0,
};

export function typeName(state: WatchState, id: number): string {
  return id === NO_TYPE ? "(unknown)" : state.text(id);
}

interface TopRows {
  rows: Row[];
  leftOut: number;
}

/* Sorts, and keeps the first ones. */
function first(rows: Row[], sort: TopSort): TopRows {
  rows.sort((a, b) => VALUE[sort](b) - VALUE[sort](a) || a.id - b.id);
  return { rows: rows.slice(0, ROWS_MAX), leftOut: Math.max(0, rows.length - ROWS_MAX) };
}

/* The functions whose name contains a text, by the numbers of their names. */
function marked(state: WatchState, wanted: string): Uint8Array {
  const marks = new Uint8Array(state.stringCount);
  for (let i = 0; i < marks.length; i++) {
    if (state.text(i).toLowerCase().includes(wanted)) marks[i] = 1;
  }
  return marks;
}

/* There may be a million stacks: only the largest become rows. */
function topStacks(state: WatchState, heap: number | null, wanted: string, sort: TopSort): TopRows {
  const isWanted = wanted === "" ? null : state.withMarked(marked(state, wanted));
  const earlier = state.earlierOf();
  const best: { id: number; value: number }[] = [];
  let count = 0;
  let least = -Infinity;
  state.eachStack(heap, (id) => {
    const live = state.figureOf(id, "live_bytes");
    const grown = earlier ? live - earlier(id) : 0;
    if ((live <= 0 && grown === 0) || (isWanted && !isWanted(id))) return;
    count++;
    const value = sort === "growth" ? grown : state.figureOf(id, FIGURE[sort]);
    if (best.length >= ROWS_MAX && value <= least) return;
    best.push({ id, value });
    if (best.length < 2 * ROWS_MAX) return;
    best.sort((a, b) => b.value - a.value || a.id - b.id).splice(ROWS_MAX);
    least = best[ROWS_MAX - 1].value;
  });
  const { rows } = first(
    best.map(({ id }) => state.rowOf(id)),
    sort,
  );
  return { rows, leftOut: count - rows.length };
}

export function topRows(state: WatchState, { kind, heap, filter, sort }: TopChoice): TopRows {
  const wanted = filter.trim().toLowerCase();
  if (kind === "stacks") return topStacks(state, heap, wanted, sort);
  const nameOf = (id: number) => (kind === "types" ? typeName(state, id) : state.text(id));
  const all: Row[] = kind === "types" ? state.types(heap) : state.functions(heap);
  const rows = all.filter(
    (row) =>
      (row.liveBytes > 0 || row.growth) &&
      (wanted === "" || nameOf(row.id).toLowerCase().includes(wanted)),
  );
  return first(rows, sort);
}
