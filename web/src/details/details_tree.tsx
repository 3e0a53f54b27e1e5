/*
 * The tree of heap details, as a grid of rows with value, share and margin.
 */
import { DownloadMenu } from "../controls/download_menu.tsx";
import { marginText } from "../controls/figure_cell.tsx";
import { useNarrow } from "../controls/use_narrow.ts";
import { VirtualGrid, type GridColumn, type GridRow } from "../controls/virtual_grid.tsx";
import { isLossy } from "../data/figures.ts";
import { functionName, partName } from "../data/names.ts";
import type { Entries } from "../data/part_figures.ts";
import type { Profile } from "../data/profile.ts";
import type { Selection } from "../data/selection.ts";
import { fileName, saveCsv } from "../download.ts";
import { share } from "../format.ts";
import { figuresOf, hasTypes, type Mode } from "./divide.ts";
import { RowName } from "./row_name.tsx";
import type { TreeRow } from "./tree_rows.ts";
import { useTree, type TreeState } from "./use_tree.ts";

const ROW_HEIGHT = 34;
const MODE_WORDS: Record<Mode, string> = {
  tree: "From the outermost function to what it calls. The rows below a row add up to it.",
  heavy:
    "Each function with all that it calls, wherever it is called from. A stack has several " +
    "functions, so rows overlap and do not add up.",
  "bottom-up":
    "From the function that allocated to its callers. The rows below a row add up to it.",
};

interface Props {
  profile: Profile;
  entries: Entries;
  selection: Selection;
  mode: Mode;
}

/* The name of a row as plain text, for a file. */
function plainName(profile: Profile, { group }: TreeRow): string {
  const { dimension, index } = group.key;
  if (dimension === "f") return `ƒ ${functionName(profile, index)}`;
  if (dimension === "t") return `Ⓣ ${partName(profile, "type", index)}`;
  if (dimension === "self") return "<self>";
  return dimension === "rest" ? "<other>" : "all";
}

function saveRows({ profile, selection }: Props, rows: readonly TreeRow[]): void {
  saveCsv(
    fileName(profile.title, "details"),
    ["level", "name", selection.measure.isCount ? "count" : "bytes"],
    rows.map((row) => [row.level, plainName(profile, row), row.group.value]),
  );
}

function ShareBar({ value, whole }: { value: number; whole: number }) {
  return (
    <span class="details-share">
      <span
        class="details-bar"
        aria-hidden="true"
        style={{ width: `${whole > 0 ? (100 * value) / whole : 0}%` }}
      />
      <span>{share(value, whole)}</span>
    </span>
  );
}

function rowOf(props: Props, tree: TreeState, index: number): GridRow {
  const { profile, entries, selection } = props;
  const row = tree.rows[index];
  const { value, key } = row.group;
  const { format } = selection.measure;
  const lossy = isLossy(profile, selection.snapshots);
  const hasMargin = key.dimension !== "rest" && value !== 0;
  return {
    key: row.path || "all",
    level: row.level,
    isOpen: row.canOpenBy.length > 0 ? row.openBy !== null : null,
    cells: [
      <RowName profile={profile} row={row} onBreak={(by) => tree.breakBy(row, by)} />,
      format(value),
      <ShareBar value={value} whole={tree.rows[0].group.value} />,
      <span class="muted">
        {hasMargin && marginText(figuresOf(entries, row.group), 0, format, lossy)}
      </span>,
    ],
  };
}

function columnsOf(title: string, isNarrow: boolean): GridColumn[] {
  const name = "By backtrace (ƒ) or type (T)";
  return [
    { key: "name", title: name, width: isNarrow ? 215 : 300, isWide: true },
    { key: "value", title, width: isNarrow ? 135 : 170, isNumber: true },
    { key: "share", title: "Share", width: 110, isNumber: true },
    { key: "margin", title: "Margin", width: 170, isNumber: true },
  ];
}

export function DetailsTree(props: Props) {
  const { entries, selection, mode } = props;
  const tree = useTree(entries, mode);
  const isNarrow = useNarrow();
  const { rows } = tree;
  return (
    <>
      <div class="details-tools not-printed">
        <p class="muted">
          {MODE_WORDS[mode]}
          {!hasTypes(entries) && " Types: not recorded."}
        </p>
        <DownloadMenu
          downloads={[{ text: "CSV of these rows", save: () => saveRows(props, rows) }]}
        />
      </div>
      <VirtualGrid
        role="treegrid"
        label="Heap details"
        columns={columnsOf(selection.measure.title, isNarrow)}
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        active={tree.active}
        onActive={tree.setActive}
        onChoose={(index) => tree.choose(rows[index])}
        onKey={tree.onKey}
        row={(index) => rowOf(props, tree, index)}
      />
      <p class="muted details-keys not-printed">
        Keys: arrows move, open and close; <kbd>f</kbd> breaks a row down by backtrace and{" "}
        <kbd>t</kbd> by type; Enter opens; Backspace goes to the row above.
      </p>
    </>
  );
}
