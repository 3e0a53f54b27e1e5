/*
 * The changes as a table of any length: sortable, and limited to the verdicts and the text that the
 * reader wants to see. A panel has all that is known of the chosen row.
 */
import { useMemo, useState } from "preact/hooks";

import { ChangeBar, type Tone } from "../controls/change_bar.tsx";
import { DownloadMenu } from "../controls/download_menu.tsx";
import { NameText } from "../controls/name_text.tsx";
import { RowPanel, WithPanel } from "../controls/row_panel.tsx";
import { SearchBox } from "../controls/search_box.tsx";
import { useNarrow } from "../controls/use_narrow.ts";
import {
  GRID_ROWS_MAX,
  VirtualGrid,
  type GridColumn,
  type GridRow,
} from "../controls/virtual_grid.tsx";
import type { Measure } from "../data/measures.ts";
import { functionName, shortName } from "../data/names.ts";
import { fileName, saveCsv, saveJson } from "../download.ts";
import { count, plural, signed } from "../format.ts";
import { linkTo, navigate, useParam } from "../state.ts";
import { chosenRows, rowModule, rowName, savedRow, type ChangeList } from "./change_list.ts";
import type { Compared } from "./compare.ts";
import { deltaText, marginText, toneOf, VERDICT_SIGNS, VERDICT_WORDS } from "./words.ts";

const ROW_HEIGHT = 42;
/* The bars have the scale of the largest of so many rows at the top. */
const SCALED_BY = 100;
const CALLERS_NAMED = 3;

const TONES: readonly { tone: Tone; text: string }[] = [
  { tone: "grew", text: "Grew" },
  { tone: "shrank", text: "Shrank" },
  { tone: "noise", text: "Noise or no change" },
];

interface Props {
  list: ChangeList;
  measure: Measure;
  hasMargins: boolean;
  views: readonly string[];
}

function ToneChoice({ tones, list }: { tones: readonly string[]; list: ChangeList }) {
  const counts = useMemo(() => {
    const sums: Record<Tone, number> = { grew: 0, shrank: 0, noise: 0 };
    for (const { change } of list.rows) sums[toneOf(change.verdict)]++;
    return sums;
  }, [list]);
  const toggle = (tone: Tone) => {
    const next = tones.includes(tone) ? tones.filter((each) => each !== tone) : [...tones, tone];
    navigate({ "diff.show": next.length === TONES.length ? null : next.join(",") || "none" });
  };
  return (
    <div class="change-buttons" role="group" aria-label="Show">
      {TONES.map(({ tone, text }) => (
        <button
          key={tone}
          type="button"
          aria-pressed={tones.includes(tone)}
          onClick={() => toggle(tone)}
        >
          <span class={`change-square change-bar-${tone}`} /> {text} ({count(counts[tone])})
        </button>
      ))}
    </div>
  );
}

const COLUMNS = ["change", "low", "high", "verdict", "before", "after", "function", "module"];

function Downloads({ list, shown }: { list: ChangeList; shown: readonly Compared[] }) {
  const name = fileName(list.profile.title, "diff");
  const cells = (row: Compared) => {
    const saved = savedRow(list, row);
    const { delta, low, high, verdict, before, after, function: own, module, frames } = saved;
    return [delta, low, high, verdict, before, after, own, module, frames.join(";")];
  };
  const object = (row: Compared) => {
    const { frames, ...saved } = savedRow(list, row);
    return frames.length > 0 ? { ...saved, frames } : saved;
  };
  return (
    <DownloadMenu
      downloads={[
        { text: "CSV", save: () => saveCsv(name, [...COLUMNS, "stack"], shown.map(cells)) },
        { text: "JSON", save: () => saveJson(name, shown.map(object)) },
      ]}
    />
  );
}

function Name({ list, id }: { list: ChangeList; id: number }) {
  const { profile } = list;
  const callers = list.callersOf(id);
  const names = callers.slice(0, CALLERS_NAMED).map((index) => shortName(profile, index));
  const detail = names.map((name) => ` ← ${name}`).join("");
  const rest = callers.length > CALLERS_NAMED ? " ← …" : "";
  return (
    <span class="diff-function">
      <NameText text={shortName(profile, list.functionOf(id))} whole={rowName(list, id)} />
      <small>
        <NameText text={detail + rest || rowModule(list, id)} most={200} />
      </small>
    </span>
  );
}

function rowOf({ list, measure, hasMargins }: Props, row: Compared, largest: number): GridRow {
  const { id, change } = row;
  const tone = toneOf(change.verdict);
  return {
    key: String(id),
    cells: [
      <Name list={list} id={id} />,
      <span>
        <b class={`change-${tone}`}>
          <span aria-hidden="true">{VERDICT_SIGNS[change.verdict]}</span>{" "}
          {deltaText(change, measure)}
        </b>
        {hasMargins && <small>{marginText(change, measure)}</small>}
      </span>,
      <ChangeBar tone={tone} change={change.delta} largest={largest} />,
      <span class={`change-${tone}`}>{VERDICT_WORDS[change.verdict]}</span>,
      measure.format(change.before),
      measure.format(change.after),
    ],
  };
}

function columnsOf(order: string, isOfStacks: boolean, isNarrow: boolean): GridColumn[] {
  const sorting = (key: string): Pick<GridColumn, "order" | "onSort"> => ({
    order: order !== key ? null : key === "name" ? "ascending" : "descending",
    onSort: () => navigate({ "diff.sort": key === "change" ? null : key }),
  });
  const title = isOfStacks ? "Function, and its callers" : "Function";
  const figure = { width: 100, isNumber: true };
  return [
    { key: "name", title, width: isNarrow ? 190 : 220, isWide: true, ...sorting("name") },
    { ...figure, key: "change", title: "Change", width: 140, ...sorting("change") },
    { key: "bar", title: "", width: 90 },
    { key: "verdict", title: "Verdict", width: 110 },
    { ...figure, key: "before", title: "Before", ...sorting("before") },
    { ...figure, key: "after", title: "After", ...sorting("after") },
  ];
}

function Panel({ list, measure, hasMargins, views }: Props) {
  const [text] = useParam("diff.row", "");
  const chosen = useMemo(
    () => (/^\d+$/.test(text) ? list.rows.find(({ id }) => id === Number(text)) : undefined),
    [list, text],
  );
  if (!chosen) return null;
  const { id, change } = chosen;
  const { format } = measure;
  const interval = `${signed(change.low, format)} to ${signed(change.high, format)}`;
  const facts = [
    { title: "Before", text: format(change.before) },
    { title: "After", text: format(change.after) },
    { title: "Change", text: `${deltaText(change, measure)}, ${VERDICT_WORDS[change.verdict]}` },
    ...(hasMargins && change.high > change.low ? [{ title: "95 % interval", text: interval }] : []),
  ];
  const short = shortName(list.profile, list.functionOf(id));
  return (
    <RowPanel
      title={list.kind === "stacks" ? "Stack" : "Function"}
      name={rowName(list, id)}
      module={rowModule(list, id)}
      facts={facts}
      stack={list.stackOf(id).map((index) => functionName(list.profile, index))}
      href={views.includes("flame") ? linkTo({ view: "flame", "flame.search": short }) : null}
      onClose={() => navigate({ "diff.row": null })}
    />
  );
}

function Rows(props: Props & { shown: readonly Compared[]; order: string }) {
  const { list, shown, order } = props;
  const [active, setActive] = useState(-1);
  const isNarrow = useNarrow();
  const largest = useMemo(
    () => shown.slice(0, SCALED_BY).reduce((m, row) => Math.max(m, Math.abs(row.change.delta)), 0),
    [shown],
  );
  const shownCount = Math.min(shown.length, GRID_ROWS_MAX);
  return (
    <>
      {shown.length > shownCount && (
        <p class="muted">
          Only the first {count(shownCount)} rows are shown. The search finds the others.
        </p>
      )}
      <VirtualGrid
        role="grid"
        label="Changes"
        columns={columnsOf(order, list.kind === "stacks", isNarrow)}
        count={shownCount}
        rowHeight={ROW_HEIGHT}
        active={Math.min(active, shownCount - 1)}
        onActive={setActive}
        onChoose={(index) => navigate({ "diff.row": shown[index].id })}
        row={(index) => rowOf(props, shown[index], largest)}
      />
    </>
  );
}

export function ChangeTable(props: Props) {
  const { list } = props;
  const [order] = useParam("diff.sort", "change");
  const [text, setText] = useParam("diff.search", "");
  const [show] = useParam("diff.show", TONES.map(({ tone }) => tone).join(","));
  const shown = useMemo(
    () => chosenRows(list, order, show.split(","), text),
    [list, order, show, text],
  );
  return (
    <>
      <div class="change-tools not-printed">
        <ToneChoice tones={show.split(",")} list={list} />
        <SearchBox
          label="Search functions"
          value={text}
          onChange={(value) => setText(value, "replace")}
          found={text ? plural(shown.length, "row") : ""}
        />
        <Downloads list={list} shown={shown} />
      </div>
      {shown.length === 0 ? (
        <p class="muted">No row is like this.</p>
      ) : (
        <WithPanel>
          <div>
            <Rows key={`${list.kind} ${order} ${show} ${text}`} {...props} {...{ shown, order }} />
          </div>
          <Panel {...props} />
        </WithPanel>
      )}
    </>
  );
}
