/*
 * The list of processes as it is shown: filtered and sorted.
 */
import { sentence } from "../data/server.ts";
import type { MachineProcess } from "./answers.ts";

export const SORT_KEYS = ["memory", "live", "name", "pid"] as const;
export type SortKey = (typeof SORT_KEYS)[number];
/* By pid: what lives in it. Nothing is known of a process that is not recorded. */
export type LiveTotals = ReadonlyMap<number, number>;

export interface Choice {
  filter: string;
  sort: SortKey;
  isRising: boolean;
  /* Only those that can be recorded, or are. */
  isAble: boolean;
}

export const memoryOf = (process: MachineProcess) => process.rss_bytes + process.swap_bytes;

type Compare = (a: MachineProcess, b: MachineProcess, totals: LiveTotals) => number;

const COMPARE: Record<SortKey, Compare> = {
  memory: (a, b) => memoryOf(a) - memoryOf(b),
  live: (a, b, totals) => (totals.get(a.pid) ?? -1) - (totals.get(b.pid) ?? -1),
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  pid: (a, b) => a.pid - b.pid,
};

/* Each word has to occur in the name, the command or the pid. */
export function matches(process: MachineProcess, filter: string): boolean {
  const text = `${process.pid} ${process.name} ${process.command ?? ""}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export function shownProcesses(
  processes: readonly MachineProcess[],
  { filter, sort, isRising, isAble }: Choice,
  totals: LiveTotals,
): MachineProcess[] {
  const direction = isRising ? 1 : -1;
  return processes
    .filter((process) => !isAble || process.eligible !== false || process.is_recorded)
    .filter((process) => matches(process, filter))
    .sort((a, b) => direction * COMPARE[sort](a, b, totals) || a.pid - b.pid);
}

/* Why a process cannot be recorded, as a sentence without its name, which stands beside it. */
export function reasonOf(process: MachineProcess): string {
  const what = process.what ?? "";
  const start = `${process.pid} (${process.name})`;
  if (!what.startsWith(start)) return sentence(what);
  const rest = what.slice(start.length);
  return rest.startsWith(" ") ? sentence(`It${rest}`) : sentence(rest.replace(/^[:\s]+/, ""));
}
