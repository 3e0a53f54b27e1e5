/*
 * What a table shows: its columns, the rows that the filter leaves, and their order. The choices of
 * the reader stand in the address.
 */
import { useMemo } from "preact/hooks";

import { isLossy } from "../data/figures.ts";
import { useAddress } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { columnOfMeasure, figureColumns, type FigureColumn } from "./figure_columns.ts";
import { keyCount, type Kind } from "./kinds.ts";
import {
  matchingKeys,
  parseOrder,
  searchOf,
  sortedKeys,
  type Order,
  type Search,
} from "./order.ts";
import { keysOf, type ColumnSums, type Sums } from "./sums.ts";

export interface RowsProps extends ViewProps {
  sums: Sums;
  kind: Kind;
}

export interface ShownTable {
  columns: readonly FigureColumn[];
  /* Of each column; null: not recorded. */
  figures: readonly (ColumnSums | null)[];
  order: Order;
  search: string;
  pattern: Search | null;
  /* How many rows there are without the filter, and those that it leaves, in order. */
  allCount: number;
  keys: Int32Array;
  hasAllColumns: boolean;
  hasMoreColumns: boolean;
  isLossy: boolean;
}

function useChoices({ selection, kind }: RowsProps) {
  const address = useAddress();
  const hasAll = address.get("table.columns") === "all";
  const fallback = columnOfMeasure(selection.measure);
  const order = parseOrder(address.get("table.sort") ?? "", fallback);
  const all = figureColumns(kind === "functions", selection.measure);
  const isShown = (each: FigureColumn) => hasAll || each.isShownFirst || each.key === order.column;
  const columns = all.filter(isShown);
  const isThere = order.column === "name" || columns.some(({ key }) => key === order.column);
  return {
    columns,
    order: isThere ? order : { column: fallback, isDescending: true },
    search: address.get("table.search") ?? "",
    hasAllColumns: hasAll,
    hasMoreColumns: all.some((each) => !each.isShownFirst),
  };
}

export function useTable(props: RowsProps): ShownTable {
  const { profile, selection, sums, kind } = props;
  const choices = useChoices(props);
  const { columns, order, search } = choices;
  const columnKeys = columns.map((column) => column.key).join();
  const figures = useMemo(
    () => columns.map((column) => sums.column(kind, column)),
    [sums, kind, columnKeys],
  );
  const pattern = useMemo(() => searchOf(search), [search]);
  const all = useMemo(() => keysOf(keyCount(profile, kind), figures), [figures]);
  const found = useMemo(() => matchingKeys(profile, kind, all, pattern), [all, pattern]);
  const sortedBy = columns.findIndex((column) => column.key === order.column);
  const keys = useMemo(() => {
    const values = figures[sortedBy]?.figures.value ?? null;
    return sortedKeys(profile, kind, found, order, values);
  }, [found, order.column, order.isDescending, figures]);
  return {
    ...choices,
    figures,
    pattern,
    allCount: all.length,
    keys,
    isLossy: isLossy(profile, selection.snapshots),
  };
}
