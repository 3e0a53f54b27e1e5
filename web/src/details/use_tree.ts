/*
 * The open rows of the tree, the active one, and what keys and clicks do with them.
 */
import { useMemo, useState } from "preact/hooks";

import type { Entries } from "../data/part_figures.ts";
import { navigate, useAddress } from "../state.ts";
import type { Dimension, Mode } from "./divide.ts";
import {
  openTexts,
  parentPath,
  parseOpen,
  Tree,
  withOpen,
  type Open,
  type TreeRow,
} from "./tree_rows.ts";

export interface TreeState {
  rows: readonly TreeRow[];
  /* -1: the active row is in a row that was closed. */
  active: number;
  setActive: (index: number) => void;
  /* null closes the row. */
  breakBy: (row: TreeRow, dimension: Dimension | null) => void;
  choose: (row: TreeRow) => void;
  onKey: (event: KeyboardEvent, at: number) => boolean;
}

/* The open rows of the address; "none": the reader closed all of them. */
function useOpen(tree: Tree): [Map<string, Open>, (next: Map<string, Open>) => void] {
  const address = useAddress();
  const texts = address.all("details.open");
  const open = useMemo(
    () => (texts.length > 0 ? parseOpen(texts) : tree.firstOpen()),
    [tree, texts.join(" ")],
  );
  const setOpen = (next: Map<string, Open>) => {
    const changed = openTexts(next);
    navigate({ "details.open": changed.length > 0 ? changed : "none" }, "replace");
  };
  return [open, setOpen];
}

type Actions = Pick<TreeState, "rows" | "breakBy" | "choose"> & {
  setPath: (path: string) => void;
};

function goRight({ rows, breakBy, choose, setPath }: Actions, at: number): void {
  const row = rows[at];
  if (row.group.key.dimension === "rest") choose(row);
  else if (row.openBy === null) breakBy(row, row.canOpenBy[0] ?? null);
  else if (rows[at + 1]?.level > row.level) setPath(rows[at + 1].path);
}

/* Returns whether it used the key. */
function applyKey(actions: Actions, key: string, at: number): boolean {
  const { rows, breakBy, choose, setPath } = actions;
  const row = rows[at];
  switch (key) {
    case "ArrowRight":
      goRight(actions, at);
      return true;
    case "ArrowLeft":
    case "Backspace":
      if (row.openBy !== null && key === "ArrowLeft") breakBy(row, null);
      else setPath(parentPath(row.path));
      return true;
    case "Enter":
    case " ":
      choose(row);
      return true;
    case "f":
    case "t":
      breakBy(row, row.openBy === key ? null : key);
      return true;
    default:
      return false;
  }
}

export function useTree(entries: Entries, mode: Mode): TreeState {
  const tree = useMemo(() => new Tree(entries, mode), [entries, mode]);
  const [open, setOpen] = useOpen(tree);
  const rows = useMemo(() => tree.rows(open), [tree, open]);
  const [path, setPath] = useState("");
  const breakBy = (row: TreeRow, dimension: Dimension | null) => {
    if (dimension !== null && !row.canOpenBy.includes(dimension)) return;
    setOpen(withOpen(open, row.path, dimension && { dimension, times: 1 }));
  };
  const choose = (row: TreeRow) => {
    const above = parentPath(row.path);
    const before = open.get(above);
    if (row.group.key.dimension !== "rest") {
      breakBy(row, row.openBy ? null : (row.canOpenBy[0] ?? null));
    } else if (before) {
      setOpen(withOpen(open, above, { ...before, times: before.times * 2 }));
    }
  };
  const actions = { rows, breakBy, choose, setPath };
  return {
    ...actions,
    active: rows.findIndex((row) => row.path === path),
    setActive: (index) => setPath(rows[index].path),
    onKey(event, at) {
      if (!rows[at] || event.ctrlKey || event.metaKey || event.altKey) return false;
      return applyKey(actions, event.key, at);
    },
  };
}
