/*
 * What a table shows: its columns, the rows that the filter leaves, and their order. The choices of
 * the reader stand in the address.
 */
import { useMemo } from "preact/hooks";

import { isLossy } from "../data/figures.ts";
import { useAddress } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { columnOfMeasure, figureColumns, type FigureColumn } from "./figure_columns.ts";
import { type Kind } from "./kinds.ts";
import {
  matchingKeys,
  parseOrder,
  searchOf,
  sortedKeys,
  type Order,
  type Search,
} from "./order.ts";
import { keysOf, type ColumnSums, type Sums } from "./sums.ts";
import { useColumns, type Progress } from "./use_columns.ts";

export interface RowsProps extends ViewProps {
  sums: Sums;
  kind: Kind;
}

export interface ShownTable {
  /* What is still added up; null: what is shown is what was asked for. */
  progress: Progress | null;
  /* The address of what is shown; null: nothing is shown yet. */
  address: string | null;
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

const NOTHING = { columns: [], figures: [] };

export function useTable(props: RowsProps): ShownTable {
  const { profile, selection, sums, kind } = props;
  const choices = useChoices(props);
  const { order, search } = choices;
  const { shown, progress } = useColumns(sums, kind, choices.columns);
  const { columns, figures } = shown ?? NOTHING;
  const pattern = useMemo(() => searchOf(search), [search]);
  const all = useMemo(() => keysOf(figures), [figures]);
  const found = useMemo(() => matchingKeys(profile, kind, all, pattern), [all, pattern]);
  const sortedBy = columns.findIndex((column) => column.key === order.column);
  const keys = useMemo(() => {
    return sortedKeys(profile, kind, found, order, figures[sortedBy] ?? null);
  }, [found, order.column, order.isDescending, figures]);
  return {
    ...choices,
    columns,
    figures,
    progress,
    address: shown ? shown.address : null,
    pattern,
    allCount: all.length,
    keys,
    isLossy: isLossy(profile, selection.snapshots),
  };
}
