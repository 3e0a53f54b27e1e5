/*
 * The view "Flame graph": what is shown and how, and the graph.
 *
 * The keys of the address: flame.direction (down, up), flame.layout (icicle, flame), flame.colour,
 * flame.recursion (merged), flame.base (snapshots to compare with), flame.zoom, flame.search; and
 * `filter`, which all views share.
 */
import { useMemo, useRef } from "preact/hooks";

import { FilterBar } from "../controls/filter_bar.tsx";
import { PartSelect } from "../controls/part_select.tsx";
import { SelectionBar } from "../controls/selection_bar.tsx";
import { filtersOf } from "../data/select_filters.ts";
import { loadSelected, unknownParts, type LoadedRows, type Selection } from "../data/selection.ts";
import type { Profile } from "../data/profile.ts";
import { FlameGraph } from "../graph/flame_graph.tsx";
import { addressOf, GraphModel } from "../graph/model.ts";
import type { Picture } from "../graph/paint.ts";
import { search } from "../graph/search.ts";
import { Failure } from "../shell/failure.tsx";
import { usePromise } from "../shell/use_promise.ts";
import { useRows } from "../shell/use_selection.ts";
import { navigate, useAddress, type Address } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { Choices } from "./choices.tsx";
import { downloadsOf } from "./downloads.ts";
import "./flame.css";
import { baseOf, lookOf } from "./look.ts";

/* The rows of the snapshots that are compared with; null: nothing is compared. */
function useBase(profile: Profile, snapshots: readonly number[]) {
  return usePromise(
    async () => (snapshots.length > 0 ? loadSelected(profile, snapshots) : null),
    [profile, snapshots.join()],
  );
}

interface ModelInput {
  profile: Profile;
  rows: LoadedRows[] | null;
  baseRows: LoadedRows[] | null;
  selection: Selection;
  baseSnapshots: readonly number[];
  address: Address;
}

/* Whether these rows are those of the snapshots: while others are read, the old ones are there. */
function areOf(rows: readonly LoadedRows[] | null, snapshots: readonly number[]): boolean {
  return rows !== null && rows.every(({ index }) => snapshots.includes(index));
}

/* While something is read, the graph stays as it was. */
function useModel(input: ModelInput): { model: GraphModel | null; isReady: boolean } {
  const { profile, rows, baseRows, selection, baseSnapshots, address } = input;
  const filters = filtersOf(address);
  const { direction, isRecursionMerged } = lookOf(address);
  const key = [JSON.stringify(filters), direction, isRecursionMerged].join();
  const last = useRef<GraphModel | null>(null);
  const isCompared = baseSnapshots.length > 0;
  const isReady =
    areOf(rows, selection.snapshots) && (!isCompared || areOf(baseRows, baseSnapshots));
  last.current = useMemo(() => {
    if (!isReady || !rows) return last.current;
    const baseSelection = { ...selection, snapshots: baseSnapshots };
    const base = isCompared && baseRows ? { rows: baseRows, selection: baseSelection } : null;
    return new GraphModel({
      profile,
      rows,
      selection,
      base,
      filters,
      direction,
      isRecursionMerged,
    });
  }, [profile, rows, baseRows, selection, baseSnapshots.join(), key, isReady]);
  return { model: last.current, isReady };
}

const PART_WORDS = { thread: "Threads", type: "Types", scope: "Scopes", age: "Ages" };

/* Why there is no box. */
function whyEmpty({ profile, spec }: GraphModel): string {
  const { rows, selection, filters } = spec;
  const isLeftOut = selection.snapshots.some((i) => profile.snapshots[i].rows === null);
  const unknown = rows.flatMap((each) => unknownParts(each.rows, selection));
  if (isLeftOut) return profile.leftOut ?? "The stacks of this snapshot are not in this page.";
  if (unknown.length > 0) {
    const words = PART_WORDS[unknown[0]];
    return `${words} are not recorded for this figure (${selection.measure.title.toLowerCase()}).`;
  }
  if (filters.length > 0) return "The filters leave no stack.";
  return "No memory of this kind was recorded in what is selected.";
}

function Graph({
  model,
  views,
  address,
}: {
  model: GraphModel;
  views: ViewProps["views"];
  address: Address;
}) {
  const look = lookOf(address);
  const field = useRef<HTMLDivElement>(null);
  const picture = useRef<Picture | null>(null);
  const zoom = address.get("flame.zoom") ?? "";
  const zoomed = useMemo(() => model.find(zoom), [model, zoom]);
  const text = address.get("flame.search") ?? "";
  const found = useMemo(
    () => search(model.profile, model.stacks, model.values, text),
    [model, text],
  );
  const { selection } = model.spec;
  return (
    <>
      <Choices
        fieldRef={field}
        model={model}
        look={look}
        text={text}
        found={found}
        downloads={downloadsOf(model, zoomed, picture)}
      />
      <FilterBar />
      {model.tree.total === 0 ? (
        <p class="flame-empty">{whyEmpty(model)}</p>
      ) : (
        <FlameGraph
          model={model}
          zoomed={zoomed}
          onZoom={(node) => navigate({ "flame.zoom": addressOf(model.tree, node) || null })}
          found={found}
          colourMode={look.colour}
          isFlame={look.isFlame}
          title={selection.measure.title}
          views={views}
          onSearch={() => field.current?.querySelector("input")?.focus()}
          pictureRef={picture}
        />
      )}
    </>
  );
}

export function Flame({ profile, selection, views }: ViewProps) {
  const address = useAddress();
  const baseSnapshots = baseOf(profile, address);
  const rows = useRows(profile, selection.snapshots);
  const base = useBase(profile, baseSnapshots);
  const { model, isReady } = useModel({
    profile,
    rows: rows.value,
    baseRows: base.value,
    selection,
    baseSnapshots,
    address,
  });
  const error = rows.error ?? base.error;
  return (
    <div class="flame">
      <SelectionBar profile={profile} selection={selection}>
        {rows.value && (
          <>
            <PartSelect {...{ profile, selection, rows: rows.value, part: "thread" }} />
            <PartSelect {...{ profile, selection, rows: rows.value, part: "type" }} />
          </>
        )}
      </SelectionBar>
      {error !== null && <Failure what="The stacks cannot be read" error={error} />}
      {error === null && !isReady && (
        <p class={model ? "loading hidden-but-read" : "loading"}>Reading the stacks…</p>
      )}
      {model && <Graph model={model} views={views} address={address} />}
    </div>
  );
}
