/*
 * The rows of a table. A row leads to a panel, or narrows the selection to itself.
 */
import { useState } from "preact/hooks";

import { FigureCell } from "../controls/figure_cell.tsx";
import { NameText } from "../controls/name_text.tsx";
import { useNarrow } from "../controls/use_narrow.ts";
import {
  GRID_ROWS_MAX,
  VirtualGrid,
  type GridColumn,
  type GridRow,
} from "../controls/virtual_grid.tsx";
import { navigate } from "../state.ts";
import { functionAddress } from "./function_address.ts";
import { filterKey, idOfKey, KIND_TITLES, rowName, type Kind } from "./kinds.ts";
import { nextOrder, orderText } from "./order.ts";
import { TableProgress } from "./table_progress.tsx";
import { TableTools, TableWords } from "./table_tools.tsx";
import { useTable, type RowsProps, type ShownTable } from "./use_table.ts";

const ROW_HEIGHT = 42;

/* Opens what a row leads to. */
function chooseRow({ profile, kind }: RowsProps, id: number): void {
  if (kind === "functions") navigate(functionAddress(profile, id));
  else if (kind === "stacks") navigate({ "table.stack": id, "table.function": null });
}

function RowFilter({ kind, id, name }: { kind: Kind; id: number; name: string }) {
  const key = filterKey(kind);
  if (key === null || (id < 0 && kind !== "scopes")) return null;
  return (
    <button
      type="button"
      class="table-filter"
      tabIndex={-1}
      aria-label={`Show only ${name}`}
      onClick={(event) => {
        event.stopPropagation();
        navigate({ [key]: id });
      }}
    >
      only
    </button>
  );
}

function RowTitle({ profile, kind, id }: RowsProps & { id: number }) {
  const { text, whole, detail } = rowName(profile, kind, id);
  return (
    <span class="table-name">
      <span class="cut">
        <NameText text={text} whole={whole} />
        {detail && (
          <small>
            <NameText text={detail} most={200} />
          </small>
        )}
      </span>
      <RowFilter kind={kind} id={id} name={text.slice(0, 80)} />
    </span>
  );
}

function rowOf(props: RowsProps, table: ShownTable, key: number): GridRow {
  const cells = table.columns.map((column, i) => {
    const sums = table.figures[i];
    const figure = sums?.figure(key);
    return (
      <FigureCell
        figures={figure?.figures ?? null}
        at={figure?.at ?? 0}
        whole={sums?.whole ?? 0}
        format={column.measure.format}
        isLossy={table.isLossy}
      />
    );
  });
  return { key: String(key), cells: [<RowTitle {...props} id={idOfKey(key)} />, ...cells] };
}

function headsOf(
  { columns, order }: ShownTable,
  isNarrow: boolean,
  onSort: () => void,
): GridColumn[] {
  const sorting = (key: string): Pick<GridColumn, "order" | "onSort"> => ({
    order: order.column !== key ? null : order.isDescending ? "descending" : "ascending",
    onSort: () => {
      onSort();
      navigate({ "table.sort": orderText(nextOrder(order, key)) });
    },
  });
  const name = { key: "name", title: "Name", width: isNarrow ? 190 : 230, isWide: true };
  return [
    { ...name, ...sorting("name") },
    ...columns.map(({ key, title, hint }) => {
      return { key, title, hint, width: 146, isNumber: true, ...sorting(key) };
    }),
  ];
}

function nothing({ kind }: RowsProps, { figures }: ShownTable): string {
  return figures.every((each) => each === null)
    ? `${KIND_TITLES[kind]}: not recorded.`
    : "Nothing is selected that was recorded.";
}

export function TableRows(props: RowsProps) {
  const table = useTable(props);
  const [active, setActive] = useState(-1);
  const isNarrow = useNarrow();
  const { keys } = table;
  const shownCount = Math.min(keys.length, GRID_ROWS_MAX);
  return (
    <div class="table-main">
      <TableTools rows={props} table={table} />
      <TableWords table={table} shownCount={shownCount} />
      {table.progress && <TableProgress progress={table.progress} before={table.address} />}
      {table.address === null ? null : table.allCount === 0 ? (
        <p class="table-words">{nothing(props, table)}</p>
      ) : (
        <VirtualGrid
          role="grid"
          label={KIND_TITLES[props.kind]}
          columns={headsOf(table, isNarrow, () => setActive(-1))}
          count={shownCount}
          rowHeight={ROW_HEIGHT}
          active={Math.min(active, shownCount - 1)}
          onActive={setActive}
          onChoose={(index) => chooseRow(props, idOfKey(keys[index]))}
          row={(index) => rowOf(props, table, keys[index])}
        />
      )}
    </div>
  );
}
