/*
 * The lines of functions or stacks as a table of any length, the steepest first. A panel has all
 * that is known of the chosen row.
 */
import { useMemo, useState } from "preact/hooks";

import { ChangeBar } from "../controls/change_bar.tsx";
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
import { confidence, count, plural, signed, type RateUnit } from "../format.ts";
import { linkTo, navigate, useParam } from "../state.ts";
import { TONE_SIGNS, TONE_WORDS, toneOf, type TrendRow } from "./lines.ts";
import { marginText, slopeText, stepsText, type Format } from "./line_words.ts";

const ROW_HEIGHT = 42;
const SCALED_BY = 100;
const CALLERS_NAMED = 3;

interface Props {
  rows: readonly TrendRow[];
  isOfStacks: boolean;
  format: Format;
  views: readonly string[];
  unit: RateUnit;
}

function columnsOf(isOfStacks: boolean, isNarrow: boolean, unit: RateUnit): GridColumn[] {
  const title = isOfStacks ? "Function, and its callers" : "Function";
  const figure = { width: 100, isNumber: true };
  return [
    { key: "name", title, width: isNarrow ? 190 : 250, isWide: true },
    { ...figure, key: "slope", title: `Change ${unit.words}`, width: 140 },
    { key: "bar", title: "", width: 100 },
    { key: "verdict", title: "Verdict", width: 90 },
    { ...figure, key: "first", title: "First" },
    { ...figure, key: "last", title: "Last" },
    { ...figure, key: "steps", title: "Steps", width: 124 },
    { ...figure, key: "leak", title: "Leak", width: 80 },
  ];
}

function rowOf(row: TrendRow, index: number, fastest: number, { format, unit }: Props): GridRow {
  const tone = toneOf(row);
  const callers = row.frames.slice(1, 1 + CALLERS_NAMED).map((name) => ` ← ${name}`);
  const rest = row.frames.length > 1 + CALLERS_NAMED ? " ← …" : "";
  return {
    key: String(index),
    cells: [
      <span class="trend-name">
        <NameText text={row.frames[0]} />
        {callers.length > 0 && (
          <small>
            <NameText text={callers.join("") + rest} most={200} />
          </small>
        )}
      </span>,
      <span>
        <b class={`change-${tone}`}>
          <span aria-hidden="true">{TONE_SIGNS[tone]}</span>{" "}
          {signed(row.perSecond * unit.seconds, format)}
        </b>
        <small>{marginText(row, format, unit)}</small>
      </span>,
      <ChangeBar tone={tone} change={row.perSecond} largest={fastest} />,
      <span class={`change-${tone}`}>{TONE_WORDS[tone]}</span>,
      format(row.first),
      format(row.last),
      stepsText(row),
      row.leakConfidence > 0 ? confidence(row.leakConfidence, ">") : "-",
    ],
  };
}

function Panel({ row, format, isOfStacks, views, unit }: Omit<Props, "rows"> & { row: TrendRow }) {
  const leak = row.leakConfidence;
  const facts = [
    { title: "Change", text: `${slopeText(row, format, unit)}, ${TONE_WORDS[toneOf(row)]}` },
    { title: "Margin", text: marginText(row, format, unit) || "none" },
    { title: "First", text: format(row.first) },
    { title: "Last", text: format(row.last) },
    { title: "Steps", text: stepsText(row) },
    { title: "It leaks", text: leak > 0 ? `${confidence(leak)} sure` : "no sign of it" },
  ];
  const [name] = row.frames;
  return (
    <RowPanel
      title={isOfStacks ? "Stack" : "Function"}
      name={name}
      module=""
      facts={facts}
      stack={isOfStacks ? row.frames : []}
      href={views.includes("flame") ? linkTo({ view: "flame", "flame.search": name }) : null}
      onClose={() => navigate({ "trend.row": null })}
    />
  );
}

const hasText = (row: TrendRow, text: string) =>
  row.frames.some((name) => name.toLowerCase().includes(text));

export function TrendTable(props: Props) {
  const { rows, isOfStacks, unit } = props;
  const [text, setText] = useParam("trend.search", "");
  const [chosen] = useParam("trend.row", "");
  const [active, setActive] = useState(-1);
  const isNarrow = useNarrow();
  const shown = useMemo(
    () => rows.map((_, i) => i).filter((i) => !text || hasText(rows[i], text.toLowerCase())),
    [rows, text],
  );
  const fastest = useMemo(
    () =>
      rows.slice(0, SCALED_BY).reduce((most, row) => Math.max(most, Math.abs(row.perSecond)), 0),
    [rows],
  );
  if (rows.length === 0) return <p class="muted">Nothing was recorded.</p>;
  const row = /^\d+$/.test(chosen) ? rows[Number(chosen)] : undefined;
  const shownCount = Math.min(shown.length, GRID_ROWS_MAX);
  return (
    <>
      <div class="change-tools not-printed">
        <SearchBox
          label="Search functions"
          value={text}
          onChange={(value) => setText(value, "replace")}
          found={text ? plural(shown.length, "row") : ""}
        />
      </div>
      {shown.length > shownCount && (
        <p class="muted">
          Only the first {count(shownCount)} rows are shown. The search finds the others.
        </p>
      )}
      {shown.length === 0 ? (
        <p class="muted">No row is like this.</p>
      ) : (
        <WithPanel>
          <VirtualGrid
            role="grid"
            label="Trends"
            columns={columnsOf(isOfStacks, isNarrow, unit)}
            count={shownCount}
            rowHeight={ROW_HEIGHT}
            active={Math.min(active, shownCount - 1)}
            onActive={setActive}
            onChoose={(index) => navigate({ "trend.row": shown[index] })}
            row={(index) => rowOf(rows[shown[index]], shown[index], fastest, props)}
          />
          {row && <Panel {...props} row={row} />}
        </WithPanel>
      )}
    </>
  );
}
