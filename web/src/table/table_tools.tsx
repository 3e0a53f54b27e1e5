/*
 * What stands above the rows: the filter, more columns, downloads, and what there is to say.
 */
import { DownloadMenu } from "../controls/download_menu.tsx";
import { SearchBox } from "../controls/search_box.tsx";
import { count, plural } from "../format.ts";
import { navigate } from "../state.ts";
import { saveTableCsv, saveTableJson } from "./save.ts";
import type { RowsProps, ShownTable } from "./use_table.ts";

interface Props {
  rows: RowsProps;
  table: ShownTable;
}

export function TableTools({ rows, table }: Props) {
  const { profile, kind } = rows;
  const { keys, columns, figures, allCount, search, hasAllColumns, hasMoreColumns } = table;
  const saved = { profile, kind, keys, columns, sums: figures, isLossy: table.isLossy };
  return (
    <div class="table-tools not-printed">
      <SearchBox
        label="Filter by name"
        value={search}
        onChange={(text) => navigate({ "table.search": text || null }, "replace")}
        found={`${count(keys.length)} of ${plural(allCount, "row")}`}
      />
      {hasMoreColumns && (
        <button
          type="button"
          aria-pressed={hasAllColumns}
          onClick={() => navigate({ "table.columns": hasAllColumns ? null : "all" })}
        >
          All columns
        </button>
      )}
      <DownloadMenu
        downloads={[
          { text: "CSV", save: () => saveTableCsv(saved) },
          { text: "JSON", save: () => saveTableJson(saved) },
        ]}
      />
    </div>
  );
}

/* Why the filter finds less than one might think, and what is not shown. */
export function TableWords({ table, shownCount }: { table: ShownTable; shownCount: number }) {
  return (
    <>
      {table.pattern?.error && (
        <p class="table-words" role="status">
          This is no regular expression, so it is searched for as it stands: {table.pattern.error}
        </p>
      )}
      {table.keys.length > shownCount && (
        <p class="table-words">
          Only the first {count(shownCount)} rows are shown. The filter finds the others.
        </p>
      )}
    </>
  );
}
