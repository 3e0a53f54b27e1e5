/*
 * Saves a table as CSV or JSON: the rows that the filter leaves, in their order, with all columns
 * and unrounded figures.
 */
import { figureAt } from "../data/figures.ts";
import { marginOf } from "../data/margin.ts";
import type { Profile } from "../data/profile.ts";
import { stackOf, functionName, functionOfNode } from "../data/names.ts";
import { fileName, saveCsv, saveJson, type Cell } from "../download.ts";
import type { FigureColumn } from "./figure_columns.ts";
import { idOfKey, rowName, type Kind } from "./kinds.ts";
import type { ColumnSums } from "./sums.ts";

export interface SavedTable {
  profile: Profile;
  kind: Kind;
  keys: Int32Array;
  columns: readonly FigureColumn[];
  sums: readonly (ColumnSums | null)[];
  isLossy: boolean;
}

/* The names of the saved columns of one column of figures. */
function savedNames({ key, measure }: FigureColumn): string[] {
  const unit = measure.isCount ? "count" : "bytes";
  return [`${key}_${unit}`, `${key}_low`, `${key}_high`];
}

/* Value, lower and upper end of its interval; null: not recorded, or no margin holds. */
function savedFigure(sums: ColumnSums | null, key: number, isLossy: boolean): Cell[] {
  if (!sums) return [null, null, null];
  const { figures, at } = sums.figure(key);
  const figure = figureAt(figures, at);
  if (isLossy) return [figure.value, null, null];
  const { below, above } = marginOf(figure);
  return [figure.value, figure.value - below, figure.value + above];
}

function savedRow(table: SavedTable, key: number): Cell[] {
  const { profile, kind, sums, isLossy } = table;
  const id = idOfKey(key);
  const name = rowName(profile, kind, id);
  const names =
    kind === "stacks"
      ? [
          stackOf(profile, id)
            .map((node) => functionName(profile, functionOfNode(profile, node)))
            .join(" ← "),
        ]
      : [name.whole, name.detail];
  return [...names, ...sums.flatMap((each) => savedFigure(each, key, isLossy))];
}

export function savedTable(table: SavedTable): { columns: string[]; rows: Cell[][] } {
  const names = table.kind === "stacks" ? ["stack"] : ["name", "of"];
  return {
    columns: [...names, ...table.columns.flatMap(savedNames)],
    rows: Array.from(table.keys, (key) => savedRow(table, key)),
  };
}

export function saveTableCsv(table: SavedTable): void {
  const { columns, rows } = savedTable(table);
  saveCsv(fileName(table.profile.title, table.kind), columns, rows);
}

export function saveTableJson(table: SavedTable): void {
  const { columns, rows } = savedTable(table);
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map((column, i) => [column, row[i]])),
  );
  saveJson(fileName(table.profile.title, table.kind), objects);
}
