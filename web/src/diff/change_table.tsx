/*
 * The changes as a table, of functions or of stacks: sortable, and limited to the verdicts and the
 * text that the reader wants to see.
 */
import { useMemo } from "preact/hooks";

import { DownloadMenu } from "../controls/download_menu.tsx";
import { SearchBox } from "../controls/search_box.tsx";
import { ShowMore } from "../controls/show_more.tsx";
import type { Measure } from "../data/measures.ts";
import { fileName, saveCsv, saveJson } from "../download.ts";
import { cut, plural } from "../format.ts";
import { navigate, useParam } from "../state.ts";
import type { Change } from "../data/margin.ts";
import { ChangeCells } from "./change_cells.tsx";
import { toneOf, type Tone } from "./words.ts";

export interface ChangeRow {
  id: number;
  change: Change;
  /* The function; of a stack, the innermost one. */
  name: string;
  /* Its name without template arguments and parameters. */
  short: string;
  module: string;
  /* Of a stack: all functions, the innermost first. */
  frames: readonly string[];
}

const PAGE = 100;
const FRAMES_MOST = 80;

const ORDERS: Readonly<Record<string, (row: ChangeRow) => number>> = {
  change: ({ change }) => Math.abs(change.delta),
  before: ({ change }) => change.before,
  after: ({ change }) => change.after,
};

const TONES: readonly { tone: Tone; text: string }[] = [
  { tone: "grew", text: "Grew" },
  { tone: "shrank", text: "Shrank" },
  { tone: "noise", text: "Noise or no change" },
];

function matcher(text: string): (row: ChangeRow) => boolean {
  if (text === "") return () => true;
  const wanted = text.toLowerCase();
  /* Stacks share their functions. */
  const known = new Map<string, boolean>();
  const has = (name: string) => {
    let found = known.get(name);
    if (found === undefined) {
      found = name.toLowerCase().includes(wanted);
      known.set(name, found);
    }
    return found;
  };
  return (row) => has(row.name) || has(row.module) || row.frames.some(has);
}

/* Sorted and filtered: rows of equal size keep their order. */
export function chosenRows(
  rows: readonly ChangeRow[],
  order: string,
  tones: readonly string[],
  text: string,
): ChangeRow[] {
  const matches = matcher(text);
  const shown = rows.filter((row) => tones.includes(toneOf(row.change.verdict)) && matches(row));
  if (order === "name") return shown.sort((a, b) => a.name.localeCompare(b.name));
  const size = ORDERS[order] ?? ORDERS["change"];
  return shown.sort((a, b) => size(b) - size(a));
}

function Frames({ row }: { row: ChangeRow }) {
  if (row.frames.length < 2) return null;
  return (
    <details class="diff-frames">
      <summary class="muted">called by {plural(row.frames.length - 1, "function")}</summary>
      <ol>
        {row.frames.slice(1, FRAMES_MOST).map((name, i) => (
          <li key={i} class="name">
            <bdi>{cut(name, 300)}</bdi>
          </li>
        ))}
      </ol>
      {row.frames.length > FRAMES_MOST && (
        <p class="muted">and {row.frames.length - FRAMES_MOST} more</p>
      )}
    </details>
  );
}

function Header({ order, measure }: { order: string; measure: Measure }) {
  const head = (key: string, text: string, span = 1) => (
    <th
      scope="col"
      class={`diff-${key}`}
      colSpan={span}
      aria-sort={order === key ? "descending" : undefined}
    >
      <button
        type="button"
        class="controls-plain"
        onClick={() => navigate({ "diff.sort": key === "change" ? null : key })}
      >
        {text}
        {order === key && <span aria-hidden="true"> ▾</span>}
      </button>
    </th>
  );
  return (
    <thead>
      <tr>
        {head("change", `Change of ${measure.title.toLowerCase()}`, 3)}
        <th scope="col">Verdict</th>
        {head("before", "Before")}
        {head("after", "After")}
        {head("name", "Function")}
      </tr>
    </thead>
  );
}

function ToneChoice({ tones, rows }: { tones: readonly string[]; rows: readonly ChangeRow[] }) {
  const countOf = (tone: Tone) => rows.filter((row) => toneOf(row.change.verdict) === tone).length;
  const toggle = (tone: Tone) => {
    const next = tones.includes(tone) ? tones.filter((each) => each !== tone) : [...tones, tone];
    navigate({ "diff.show": next.length === TONES.length ? null : next.join(",") || "none" });
  };
  return (
    <div class="diff-tones" role="group" aria-label="Show">
      {TONES.map(({ tone, text }) => (
        <button
          key={tone}
          type="button"
          aria-pressed={tones.includes(tone)}
          onClick={() => toggle(tone)}
        >
          <span class={`diff-square diff-bar-${tone}`} /> {text} ({countOf(tone)})
        </button>
      ))}
    </div>
  );
}

const COLUMNS = ["change", "low", "high", "verdict", "before", "after", "function", "module"];

function cellsOf(row: ChangeRow) {
  const { delta, low, high, verdict, before, after } = row.change;
  return [delta, low, high, verdict, before, after, row.name, row.module, row.frames.join(";")];
}

function Downloads({ rows, title }: { rows: readonly ChangeRow[]; title: string }) {
  const name = fileName(title, "diff");
  return (
    <DownloadMenu
      downloads={[
        {
          text: "CSV",
          save: () => saveCsv(name, [...COLUMNS, "stack"], rows.map(cellsOf)),
        },
        {
          text: "JSON",
          save: () =>
            saveJson(
              name,
              rows.map(({ change, name: own, module, frames }) => ({
                function: own,
                module,
                ...change,
                ...(frames.length > 0 ? { frames } : {}),
              })),
            ),
        },
      ]}
    />
  );
}

interface Props {
  rows: readonly ChangeRow[];
  measure: Measure;
  hasMargins: boolean;
  title: string;
  /* The address of a function in another view; null: there is none. */
  linkOf: ((name: string) => string) | null;
}

function Row({
  row,
  largest,
  ...props
}: Omit<Props, "rows"> & { row: ChangeRow; largest: number }) {
  const name = (
    <bdi class="name" title={cut(row.name, 2000)}>
      {cut(row.short, 160)}
    </bdi>
  );
  return (
    <tr>
      <ChangeCells
        change={row.change}
        largest={largest}
        measure={props.measure}
        hasMargins={props.hasMargins}
      />
      <th scope="row" class="diff-function">
        {props.linkOf ? <a href={props.linkOf(row.name)}>{name}</a> : name}{" "}
        {row.module && <small class="muted">{cut(row.module, 80)}</small>}
        <Frames row={row} />
      </th>
    </tr>
  );
}

export function ChangeTable(props: Props) {
  const { rows, measure } = props;
  const [order] = useParam("diff.sort", "change");
  const [text, setText] = useParam("diff.search", "");
  const [show] = useParam("diff.show", TONES.map(({ tone }) => tone).join(","));
  const [most, setMost] = useParam("diff.rows", String(PAGE));
  const tones = show.split(",");
  const shown = useMemo(() => chosenRows(rows, order, tones, text), [rows, order, show, text]);
  const largest = Math.max(0, ...shown.slice(0, PAGE).map((row) => Math.abs(row.change.delta)));
  const limit = Math.max(PAGE, Math.min(Number(most) || PAGE, 2000));
  return (
    <>
      <div class="diff-tools not-printed">
        <ToneChoice tones={tones} rows={rows} />
        <SearchBox
          label="Search functions"
          value={text}
          onChange={(value) => setText(value, "replace")}
          found={text ? plural(shown.length, "row") : ""}
        />
        <Downloads rows={shown} title={props.title} />
      </div>
      {shown.length === 0 ? (
        <p class="muted">No row is like this.</p>
      ) : (
        <div class="diff-scroll" tabIndex={0} role="group" aria-label="Changes">
          <table class="diff-table">
            <Header order={order} measure={measure} />
            <tbody>
              {shown.slice(0, limit).map((row) => (
                <Row key={row.id} {...props} row={row} largest={largest} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <ShowMore
        shown={limit}
        all={shown.length}
        onMore={() => setMost(String(limit + 5 * PAGE), "replace")}
      />
    </>
  );
}
