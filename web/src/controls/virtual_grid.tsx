/*
 * A table of any number of rows, of which only the visible ones are elements: a grid, or a tree of
 * rows. One row is the active one: arrows, Page Up, Page Down, Home and End move it, and the view
 * says what other keys do.
 *
 * Holds     the focus is on the grid itself, which names the active row (aria-activedescendant): a
 *           row that is scrolled out of sight does not take the focus with it.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { count as formatCount } from "../format.ts";
import { usePrinting } from "./use_printing.ts";
import "./virtual_grid.css";
import { useVirtualRows } from "./use_virtual_rows.ts";

const HEAD_HEIGHT = 44;
/* Browsers draw elements up to some 33 million pixels high. */
export const GRID_ROWS_MAX = 500_000;
/* What a reader wants on paper is at the top; a download has the rest. */
export const PRINTED_ROWS = 100;

export interface GridColumn {
  key: string;
  title: string;
  /* What the column contains, in one clause. */
  hint?: string;
  isNumber?: boolean;
  /* In pixels; a wide column takes what the others leave. */
  width: number;
  isWide?: boolean;
  order?: "ascending" | "descending" | null;
  onSort?: () => void;
}

export interface GridRow {
  key: string;
  cells: readonly ComponentChildren[];
  /* Of a row of a tree. */
  level?: number;
  isOpen?: boolean | null;
}

interface Props {
  role: "grid" | "treegrid";
  label: string;
  columns: readonly GridColumn[];
  count: number;
  rowHeight: number;
  row: (index: number) => GridRow;
  active: number;
  onActive: (index: number) => void;
  onChoose?: (index: number) => void;
  /* Returns whether it used the key. */
  onKey?: (event: KeyboardEvent, index: number) => boolean;
}

/* The row to which a key moves; null: the key does not move. */
export function movedBy(key: string, at: number, count: number, page: number): number | null {
  const last = count - 1;
  switch (key) {
    case "ArrowDown":
      return Math.min(at + 1, last);
    case "ArrowUp":
      return Math.max(at - 1, 0);
    case "PageDown":
      return Math.min(Math.max(at, 0) + page, last);
    case "PageUp":
      return Math.max(at - page, 0);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}

function gridWidth({ width, isWide }: GridColumn): string {
  return isWide ? `minmax(${width}px, 1fr)` : `${width}px`;
}

/* On paper no column scrolls out of sight: all share the width. */
function printedWidth({ width, isWide }: GridColumn): string {
  return `minmax(0, ${isWide ? 1.25 * width : width}fr)`;
}

function Head({ columns }: { columns: readonly GridColumn[] }) {
  return (
    <div class="controls-grid-row controls-grid-head" role="row" aria-rowindex={1}>
      {columns.map((column) => (
        <div
          key={column.key}
          role="columnheader"
          aria-sort={column.onSort ? (column.order ?? "none") : undefined}
          class={column.isNumber ? "controls-grid-number" : ""}
          title={column.hint}
        >
          {column.onSort ? (
            <button type="button" class="controls-grid-sort" onClick={column.onSort}>
              {column.title}
              <span aria-hidden="true">
                {column.order === "ascending" ? " ▲" : column.order === "descending" ? " ▼" : ""}
              </span>
            </button>
          ) : (
            column.title
          )}
        </div>
      ))}
    </div>
  );
}

/* On paper the first rows follow each other. */
function printedRows(count: number): { index: number; start: number }[] {
  return Array.from({ length: Math.min(count, PRINTED_ROWS) }, (_, index) => ({ index, start: 0 }));
}

export function VirtualGrid(props: Props) {
  const { role, label, columns, count, rowHeight, row, active, onActive, onChoose, onKey } = props;
  const element = useRef<HTMLDivElement>(null);
  const id = useId();
  const rows = useVirtualRows({ count, rowHeight, headHeight: HEAD_HEIGHT, element });
  useEffect(() => {
    if (active >= 0 && active < count) rows.scrollToIndex(active, { align: "auto" });
  }, [active]);
  const onKeyDown = (event: KeyboardEvent) => {
    const grid = element.current;
    if (!grid || event.target !== grid || count === 0) return;
    if (onKey?.(event, active)) return event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && active >= 0) return onChoose?.(active);
    const page = Math.floor(grid.clientHeight / rowHeight) - 1;
    const next = movedBy(event.key, active, count, Math.max(page, 1));
    if (next === null) return;
    event.preventDefault();
    onActive(next);
  };
  const isPrinting = usePrinting();
  const visible = isPrinting ? printedRows(count) : rows.getVirtualItems();
  const isActiveDrawn = visible.some((item) => item.index === active);
  return (
    <div
      ref={element}
      class="controls-grid"
      style={{
        "--columns": columns.map(gridWidth).join(" "),
        "--printed-columns": columns.map(printedWidth).join(" "),
        "--width": `${columns.reduce((sum, column) => sum + column.width, 0)}px`,
        "--row-height": `${rowHeight}px`,
      }}
      role={role}
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      tabIndex={0}
      aria-activedescendant={isActiveDrawn ? `${id}-${active}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div role="rowgroup" class="controls-grid-top">
        <Head columns={columns} />
      </div>
      <div
        role="rowgroup"
        class="controls-grid-body"
        style={{ height: isPrinting ? "auto" : `${rows.getTotalSize()}px` }}
      >
        {visible.map(({ index, start }) => {
          const { key, cells, level, isOpen } = row(index);
          return (
            <div
              key={key}
              id={`${id}-${index}`}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={index === active}
              aria-level={level}
              aria-expanded={isOpen ?? undefined}
              class="controls-grid-row"
              style={{ top: `${start - HEAD_HEIGHT}px` }}
              onClick={() => {
                onActive(index);
                onChoose?.(index);
              }}
            >
              {cells.map((cell, i) => (
                <div
                  key={columns[i].key}
                  role="gridcell"
                  class={columns[i].isNumber ? "controls-grid-number" : "controls-grid-name"}
                >
                  {cell}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {isPrinting && count > PRINTED_ROWS && (
        <p class="controls-grid-rest">
          The first {formatCount(PRINTED_ROWS)} of {formatCount(count)} rows.
        </p>
      )}
    </div>
  );
}
