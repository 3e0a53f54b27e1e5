/*
 * The rows of the tree that are to be seen: what the reader broke down, and by which dimension. It
 * stands in the address, as paths such as "f12.t3".
 *
 *     f12     the row of function 12           f12:t   it is broken down by type
 *     f12.t3  type 3 below it                  f12.t3:f  and this one by backtrace
 *     :f      the whole, by backtrace; :f+2: with two times more rows than at first
 */
import type { Entries } from "../data/part_figures.ts";
import {
  allBelow,
  canBreak,
  everything,
  SHOWN,
  shownOf,
  type Dimension,
  type Group,
  type Mode,
  type RowKey,
} from "./divide.ts";

export interface TreeRow {
  path: string;
  level: number;
  group: Group;
  /* By what it is broken down; null: it is closed. */
  openBy: Dimension | null;
  /* By what it can be broken down. */
  canOpenBy: readonly Dimension[];
}

export interface Open {
  dimension: Dimension;
  /* How many rows are shown below it, as a multiple of SHOWN. */
  times: number;
}

const LETTERS: Record<RowKey["dimension"], string> = {
  f: "f",
  t: "t",
  self: "s",
  rest: "r",
  all: "",
};

export function stepOf({ dimension, index }: RowKey): string {
  return dimension === "self" || dimension === "all"
    ? LETTERS[dimension]
    : `${LETTERS[dimension]}${index}`;
}

/* The broken-down rows that the address lists. */
export function parseOpen(texts: readonly string[]): Map<string, Open> {
  const open = new Map<string, Open>();
  for (const text of texts) {
    const match = /^([a-z0-9.-]*):([ft])(?:\+(\d{1,5}))?$/.exec(text);
    if (match) {
      open.set(match[1], { dimension: match[2] as Dimension, times: Number(match[3] ?? 1) });
    }
  }
  return open;
}

export function openTexts(open: ReadonlyMap<string, Open>): string[] {
  return [...open].map(([path, { dimension, times }]) => {
    return `${path}:${dimension}${times > 1 ? `+${times}` : ""}`;
  });
}

/* Opens or closes a row; what was open below it is forgotten. */
export function withOpen(
  open: ReadonlyMap<string, Open>,
  path: string,
  change: Open | null,
): Map<string, Open> {
  const next = new Map<string, Open>();
  const before = open.get(path);
  const isSameBreak = change !== null && before?.dimension === change.dimension;
  for (const [key, value] of open) {
    const isBelow = path === "" ? key !== "" : key.startsWith(`${path}.`);
    if (key !== path && (!isBelow || isSameBreak)) next.set(key, value);
  }
  if (change) next.set(path, change);
  return next;
}

const FIRST_DEPTH = 12;
const FIRST_SHARE = 0.5;

export class Tree {
  private readonly below = new Map<string, Group[]>();
  private readonly root: Group;

  constructor(
    private readonly entries: Entries,
    private readonly mode: Mode,
  ) {
    this.root = everything(entries);
  }

  private groupsBelow(path: string, group: Group, dimension: Dimension): Group[] {
    const key = `${path}:${dimension}`;
    let groups = this.below.get(key);
    if (!groups) {
      groups = allBelow(this.entries, group, dimension, this.mode);
      this.below.set(key, groups);
    }
    return groups;
  }

  private addRow(
    rows: TreeRow[],
    path: string,
    level: number,
    group: Group,
    open: ReadonlyMap<string, Open>,
  ): void {
    const canOpenBy = (["f", "t"] as const).filter(
      (dimension) => group.key.dimension !== "rest" && canBreak(this.entries, group, dimension),
    );
    const chosen = open.get(path);
    const isOpen = chosen !== undefined && canOpenBy.includes(chosen.dimension);
    rows.push({ path, level, group, openBy: isOpen ? chosen.dimension : null, canOpenBy });
    if (!isOpen) return;
    const groups = this.groupsBelow(path, group, chosen.dimension);
    for (const each of shownOf(groups, SHOWN * chosen.times)) {
      const step = stepOf(each.key);
      this.addRow(rows, path === "" ? step : `${path}.${step}`, level + 1, each, open);
    }
  }

  /*
   * What is open before the reader opens anything: the way along the largest rows, as long as one
   * of them has most of the whole, so that the first picture shows where the memory divides.
   */
  firstOpen(): Map<string, Open> {
    const open = new Map<string, Open>([["", { dimension: "f", times: 1 }]]);
    if (this.mode !== "tree") return open;
    let [path, group] = ["", this.root];
    for (let depth = 0; depth < FIRST_DEPTH; depth++) {
      const largest: Group | undefined = this.groupsBelow(path, group, "f")[0];
      if (!largest || largest.key.dimension !== "f") break;
      if (largest.value < FIRST_SHARE * this.root.value) break;
      path = path === "" ? stepOf(largest.key) : `${path}.${stepOf(largest.key)}`;
      group = largest;
      open.set(path, { dimension: "f", times: 1 });
    }
    return open;
  }

  /* The rows from top to bottom. */
  rows(open: ReadonlyMap<string, Open>): TreeRow[] {
    const rows: TreeRow[] = [];
    this.addRow(rows, "", 1, this.root, open);
    return rows;
  }
}

/* The path of the row that a row stands below; "": the whole. */
export function parentPath(path: string): string {
  const at = path.lastIndexOf(".");
  return at < 0 ? "" : path.slice(0, at);
}
