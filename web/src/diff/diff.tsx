/*
 * Two snapshots, or what two files are about, compared: what grew (red), what shrank (blue), and
 * what may be the chance of sampling (grey).
 */
import { useMemo } from "preact/hooks";

import { FilterBar } from "../controls/filter_bar.tsx";
import { SelectionBar } from "../controls/selection_bar.tsx";
import { shortName, snapshotTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { filtersOf } from "../data/select_filters.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import { cut, plural } from "../format.ts";
import { Failure } from "../shell/failure.tsx";
import { useRows } from "../shell/use_selection.ts";
import { navigate, useAddress, useParam } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { ChangeGraph } from "./change_graph.tsx";
import { changeList } from "./change_list.ts";
import { ChangeTable } from "./change_table.tsx";
import { SideChoice } from "./side_choice.tsx";
import { compare, wholeChange } from "./compare.ts";
import "./diff.css";
import { ResidentCard } from "./resident_card.tsx";
import { hindranceOf, measureOfSides, sidesOf, type Sides } from "./sides.ts";
import { SummaryCard } from "./summary_card.tsx";

const TABLES = [
  { key: "self", title: "Functions" },
  { key: "total", title: "Functions with what they call" },
  { key: "stacks", title: "Stacks" },
  { key: "flame", title: "Flame graph" },
] as const;
type TableKey = (typeof TABLES)[number]["key"];

function sideTitle(profile: Profile, snapshots: readonly number[]): string {
  if (snapshots.length !== 1) return plural(snapshots.length, "snapshot");
  const title = snapshotTitle(profile, snapshots[0]);
  const process = profile.processes[profile.snapshots[snapshots[0]].process];
  const isOfFiles = profile.files.length > 1;
  return cut(isOfFiles ? `${profile.files[process.file].name}, ${title}` : title, 120);
}

interface BodyProps {
  profile: Profile;
  selection: Selection;
  sides: Sides;
  loaded: { before: readonly LoadedRows[]; after: readonly LoadedRows[] };
  views: readonly string[];
}

function TableChoice({ table, onChange }: { table: string; onChange: (key: string) => void }) {
  return (
    <div class="change-buttons not-printed" role="group" aria-label="Show as">
      {TABLES.map(({ key, title }) => (
        <button key={key} type="button" aria-pressed={table === key} onClick={() => onChange(key)}>
          {title}
        </button>
      ))}
    </div>
  );
}

function Body({ profile, selection, sides, loaded, views }: BodyProps) {
  const address = useAddress();
  const filters = filtersOf(address);
  const filterKey = address.all("filter").join("\n");
  const comparison = useMemo(
    () => compare(profile, sides, loaded, selection, filters),
    [profile, loaded, selection, filterKey],
  );
  const [tableName] = useParam("diff.table", "self");
  const table: TableKey = TABLES.find(({ key }) => key === tableName)?.key ?? "self";
  const functions = useMemo(() => changeList(profile, comparison, "self"), [profile, comparison]);
  const list = useMemo(() => {
    if (table === "flame") return null;
    return table === "self" ? functions : changeList(profile, comparison, table);
  }, [table, functions]);
  const named = useMemo(
    () =>
      functions.rows.map(({ id, change }) => ({
        name: shortName(profile, functions.functionOf(id)),
        change,
      })),
    [functions],
  );
  const { measure } = selection;
  const { hasMargins } = comparison;
  const choose = (key: string) =>
    navigate({ "diff.table": key === "self" ? null : key, "diff.row": null });
  return (
    <>
      <SummaryCard
        whole={wholeChange(comparison)}
        functions={named}
        measure={measure}
        hasMargins={hasMargins}
        titles={[sideTitle(profile, sides.before), sideTitle(profile, sides.after)]}
      />
      <section class="change-card">
        <TableChoice table={table} onChange={choose} />
        {list ? (
          <ChangeTable {...{ list, measure, hasMargins, views }} />
        ) : (
          <ChangeGraph {...{ profile, selection, sides, loaded, filters, views }} />
        )}
      </section>
      <ResidentCard profile={profile} sides={sides} />
    </>
  );
}

export function Diff({ profile, selection: shared, views }: ViewProps) {
  const address = useAddress();
  const sides = useMemo(
    () => sidesOf(profile, address),
    [profile, address.get("diff.before"), address.get("diff.after")],
  );
  const measure = measureOfSides(profile, address, sides);
  const selection = useMemo(() => ({ ...shared, measure }), [shared, measure]);
  const before = useRows(profile, sides.before);
  const after = useRows(profile, sides.after);
  const error = before.error ?? after.error;
  const loaded = useMemo(
    () => before.value && after.value && { before: before.value, after: after.value },
    [before.value, after.value],
  );
  const [early, late] = [sideTitle(profile, sides.before), sideTitle(profile, sides.after)];
  const words = `${measure.title} · ${early} → ${late}`;
  const isReading = !loaded || before.isPending || after.isPending;
  const hindrance = loaded
    ? hindranceOf(profile, [...loaded.before, ...loaded.after], selection)
    : "";
  return (
    <>
      <SelectionBar profile={profile} selection={selection} choices={["heap"]} words={words}>
        <SideChoice profile={profile} sides={sides} measure={measure} />
      </SelectionBar>
      <FilterBar />
      {error !== null && error !== undefined && (
        <Failure what="The stacks cannot be read" error={error} />
      )}
      {!error && isReading && <p class="loading">Reading the stacks…</p>}
      {!error && !isReading && hindrance && <p>{hindrance}</p>}
      {!error && !isReading && loaded && !hindrance && (
        <Body profile={profile} selection={selection} sides={sides} loaded={loaded} views={views} />
      )}
    </>
  );
}
