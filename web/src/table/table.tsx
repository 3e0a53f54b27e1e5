/*
 * The view "Table": everything that holds memory, one row each, sortable and searchable.
 */
import { FilterBar } from "../controls/filter_bar.tsx";
import { PartSelect } from "../controls/part_select.tsx";
import { Select } from "../controls/select.tsx";
import { SelectionBar } from "../controls/selection_bar.tsx";
import { isLossy } from "../data/figures.ts";
import type { Profile } from "../data/profile.ts";
import type { LoadedRows } from "../data/selection.ts";
import { Failure } from "../shell/failure.tsx";
import { useRows } from "../shell/use_selection.ts";
import { navigate, useAddress, useParam } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { functionOf } from "./function_address.ts";
import { FunctionPanel } from "./function_panel.tsx";
import { KINDS, KIND_TITLES, type Kind } from "./kinds.ts";
import { StackPanel } from "./stack_panel.tsx";
import { TableRows } from "./table_rows.tsx";
import "./table.css";
import { useSums } from "./use_sums.ts";
import type { RowsProps } from "./use_table.ts";

function kindOf(text: string): Kind {
  return KINDS.find((kind) => kind === text) ?? "functions";
}

function Panel(props: RowsProps) {
  const { profile, selection, sums, views } = props;
  const address = useAddress();
  const index = functionOf(profile, address);
  if (index !== null) {
    return (
      <FunctionPanel
        profile={profile}
        sums={sums}
        measure={selection.measure}
        index={index}
        isLossy={isLossy(profile, selection.snapshots)}
        views={views}
      />
    );
  }
  const stack = address.get("table.stack");
  const node = stack !== null && /^\d+$/.test(stack) ? Number(stack) : -1;
  if (node < 0 || node >= profile.tree.count) return null;
  return <StackPanel profile={profile} node={node} />;
}

/* Scopes and processes have rows only where there are several. */
function isThere(profile: Profile, kind: Kind): boolean {
  if (kind === "scopes") return profile.scopes.count > 1;
  return kind !== "processes" || profile.processes.length > 1;
}

function chooseKind(kind: string): void {
  navigate({
    "table.kind": kind === "functions" ? null : kind,
    "table.sort": null,
    "table.function": null,
    "table.in": null,
    "table.stack": null,
  });
}

function Choices(props: ViewProps & { kind: Kind; rows: LoadedRows[] | null }) {
  const { profile, selection, kind, rows } = props;
  const options = KINDS.filter((each) => isThere(profile, each)).map((each) => ({
    value: each,
    text: KIND_TITLES[each],
  }));
  return (
    <>
      <SelectionBar profile={profile} selection={selection}>
        {rows && (
          <>
            <PartSelect profile={profile} rows={rows} selection={selection} part="thread" />
            <PartSelect profile={profile} rows={rows} selection={selection} part="type" />
          </>
        )}
        <Select label="Rows" value={kind} options={options} onChange={chooseKind} />
      </SelectionBar>
      <FilterBar />
    </>
  );
}

export function Table(props: ViewProps) {
  const { profile, selection } = props;
  const [kindText] = useParam("table.kind", "functions");
  const kind = kindOf(kindText);
  const rows = useRows(profile, selection.snapshots);
  const sums = useSums(profile, rows.value, selection);
  return (
    <>
      <Choices {...props} kind={kind} rows={rows.value} />
      {rows.error !== null && <Failure what="The stacks cannot be read" error={rows.error} />}
      {!sums && rows.error === null && <p class="loading">Reading the stacks…</p>}
      {sums && (
        <div class="table-view">
          <TableRows key={kind} {...props} sums={sums} kind={kind} />
          <Panel {...props} sums={sums} kind={kind} />
        </div>
      )}
    </>
  );
}
