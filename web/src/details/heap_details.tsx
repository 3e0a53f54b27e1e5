/*
 * The view "Heap details": memory by backtrace (ƒ) and type (Ⓣ), in any order.
 */
import { useMemo } from "preact/hooks";

import { FilterBar } from "../controls/filter_bar.tsx";
import { PartSelect } from "../controls/part_select.tsx";
import { Select } from "../controls/select.tsx";
import { SelectionBar } from "../controls/selection_bar.tsx";
import { entriesOf } from "../data/part_figures.ts";
import type { Profile } from "../data/profile.ts";
import { filtersOf, filterText } from "../data/select_filters.ts";
import { filterStacks } from "../data/select_stacks.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import { Failure } from "../shell/failure.tsx";
import { useRows } from "../shell/use_selection.ts";
import { navigate, useAddress } from "../state.ts";
import type { ViewProps } from "../views.ts";
import "./details.css";
import { DetailsTree } from "./details_tree.tsx";
import type { Mode } from "./divide.ts";

const MODES: readonly { value: Mode; text: string }[] = [
  { value: "bottom-up", text: "Bottom-up (heavy)" },
  { value: "tree", text: "Top-down (tree)" },
  { value: "heavy", text: "Top-down (heavy)" },
];

function useEntries(profile: Profile, loaded: LoadedRows[] | null, selection: Selection) {
  const filters = filtersOf(useAddress());
  const key = filters.map(filterText).join("\n");
  return useMemo(
    () => loaded && entriesOf(profile, loaded, selection, filterStacks(profile, filters)),
    [profile, loaded, selection, key],
  );
}

function chooseMode(value: string): void {
  navigate({ "details.mode": value === MODES[0].value ? null : value, "details.open": null });
}

export function Details({ profile, selection }: ViewProps) {
  const address = useAddress();
  const rows = useRows(profile, selection.snapshots);
  const entries = useEntries(profile, rows.value, selection);
  const chosen = MODES.find(({ value }) => value === address.get("details.mode")) ?? MODES[0];
  return (
    <>
      <SelectionBar profile={profile} selection={selection}>
        {rows.value && (
          <>
            <PartSelect profile={profile} rows={rows.value} selection={selection} part="thread" />
            <PartSelect profile={profile} rows={rows.value} selection={selection} part="type" />
          </>
        )}
        <Select label="Order" value={chosen.value} options={MODES} onChange={chooseMode} />
      </SelectionBar>
      <FilterBar />
      {rows.error !== null && <Failure what="The stacks cannot be read" error={rows.error} />}
      {!entries && rows.error === null && <p class="loading">Reading the stacks…</p>}
      {entries && entries.count === 0 && <p>Nothing is selected that was recorded.</p>}
      {entries && entries.count > 0 && (
        <DetailsTree
          profile={profile}
          entries={entries}
          selection={selection}
          mode={chosen.value}
        />
      )}
    </>
  );
}
