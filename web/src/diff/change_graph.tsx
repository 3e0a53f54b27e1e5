/*
 * The changes as a flame graph: each box is as wide as the larger of both sides, red where it grew,
 * blue where it shrank, grey within noise.
 */
import { useMemo } from "preact/hooks";

import { SearchBox } from "../controls/search_box.tsx";
import type { Profile } from "../data/profile.ts";
import type { StackFilter } from "../data/select_filters.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import { share } from "../format.ts";
import { FlameGraph } from "../graph/flame_graph.tsx";
import { addressOf, GraphModel } from "../graph/model.ts";
import { search } from "../graph/search.ts";
import { linkTo, navigate, useParam } from "../state.ts";
import { selectionOfSide, type Sides } from "./sides.ts";

interface Props {
  profile: Profile;
  selection: Selection;
  sides: Sides;
  loaded: { before: readonly LoadedRows[]; after: readonly LoadedRows[] };
  filters: readonly StackFilter[];
  views: readonly string[];
}

function useModel({ profile, selection, sides, loaded, filters }: Props): GraphModel {
  return useMemo(
    () =>
      new GraphModel({
        profile,
        rows: loaded.after,
        selection: selectionOfSide(selection, sides.after),
        base: { rows: loaded.before, selection: selectionOfSide(selection, sides.before) },
        filters,
        direction: "down",
        isRecursionMerged: false,
      }),
    [profile, selection, loaded, JSON.stringify(filters)],
  );
}

/* The same two sides in the view of flame graphs, with all of its choices. */
function LinkToView({ selection, sides }: Pick<Props, "selection" | "sides">) {
  const href = linkTo({
    view: "flame",
    snapshot: sides.after.join(","),
    "flame.base": sides.before.join(","),
    "flame.colour": "change",
    measure: selection.measure.name,
  });
  return <a href={href}>Open as a view</a>;
}

export function ChangeGraph(props: Props) {
  const { profile, selection, sides, views } = props;
  const model = useModel(props);
  const [zoom] = useParam("diff.zoom", "");
  const [text, setText] = useParam("diff.search", "");
  const zoomed = useMemo(() => model.find(zoom), [model, zoom]);
  const found = useMemo(
    () => search(profile, model.stacks, model.values, text),
    [profile, model, text],
  );
  if (model.tree.total === 0) return <p class="muted">There is no stack.</p>;
  return (
    <>
      <div class="change-tools not-printed" id="diff-graph-tools">
        <SearchBox
          label="Search functions"
          value={text}
          onChange={(value) => setText(value, "replace")}
          found={found ? `${share(found.total, model.total)} after` : ""}
        />
        {views.includes("flame") && <LinkToView selection={selection} sides={sides} />}
      </div>
      <FlameGraph
        model={model}
        zoomed={zoomed}
        onZoom={(node) => navigate({ "diff.zoom": addressOf(model.tree, node) || null })}
        found={found}
        colourMode="change"
        isFlame={false}
        title={selection.measure.title}
        views={views}
        onSearch={() => document.querySelector<HTMLElement>("#diff-graph-tools input")?.focus()}
      />
    </>
  );
}
