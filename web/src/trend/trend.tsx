/*
 * What grows over the snapshots of one process: a straight line through them for each function and
 * stack, as C fitted it.
 */
import { useMemo } from "preact/hooks";

import "../controls/controls.css";
import { Select } from "../controls/select.tsx";
import { ShowMore } from "../controls/show_more.tsx";
import { processTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { bytes, count, cut, duration, plural, share, signed } from "../format.ts";
import { Failure } from "../shell/failure.tsx";
import { usePromise } from "../shell/use_promise.ts";
import { linkTo, navigate, useAddress, useParam } from "../state.ts";
import type { ViewProps } from "../views.ts";
import {
  TONE_SIGNS,
  TONE_WORDS,
  toneOf,
  trendOf,
  type Line,
  type Trend as TrendData,
  type TrendRow,
} from "./lines.ts";
import "./trend.css";

const PAGE = 100;
const FRAMES_MOST = 80;

/* Whether a process has enough snapshots for a line. */
export function hasTrend(profile: Profile): boolean {
  return profile.processes.some((process) => process.trend !== null);
}

type Format = (value: number) => string;

function slopeText(line: Line, format: Format): string {
  return `${signed(line.perSecond, format)} a second`;
}

function marginOf(line: Line, format: Format): string {
  const half = (line.high - line.low) / 2;
  return half > 1e-6 * Math.abs(line.perSecond) ? `± ${format(half)}` : "";
}

function stepsText(line: Line): string {
  return line.stepsDown === 0 ? `${line.stepsUp} up` : `${line.stepsUp} up, ${line.stepsDown} down`;
}

function Figures({ trend, format }: { trend: TrendData; format: Format }) {
  const what = trend.isCount ? "Live objects" : "Live memory";
  const lines: [string, Line, Format][] = [[what, trend.total, format]];
  if (trend.resident?.line) lines.push(["Resident memory", trend.resident.line, bytes]);
  return (
    <dl class="trend-figures">
      {lines.map(([name, line, formatOf]) => {
        const tone = toneOf(line);
        return (
          <div key={name}>
            <dt>
              {name}: {TONE_WORDS[tone]}
            </dt>
            <dd class={`trend-${tone}`}>
              <span aria-hidden="true">{TONE_SIGNS[tone]}</span> {slopeText(line, formatOf)}
            </dd>
            <dd class="muted trend-more">
              {[
                marginOf(line, formatOf),
                `from ${formatOf(line.first)} to ${formatOf(line.last)}`,
                stepsText(line),
              ]
                .filter(Boolean)
                .join(" · ")}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/* The functions that grow, in one sentence. */
function answerOf(trend: TrendData, format: Format): string {
  const growing = trend.functions.filter((row) => toneOf(row) === "grew");
  const over = `over ${plural(trend.snapshots, "snapshot")} in ${duration(trend.seconds)}`;
  if (growing.length === 0) return `No function grows by more than its margin, ${over}.`;
  const named = growing
    .slice(0, 3)
    .map((row) => `${cut(row.frames[0], 80)} (${slopeText(row, format)})`);
  const rest = growing.length - named.length;
  const others = rest > 0 ? ` and ${plural(rest, "other function")}` : "";
  return `What grows ${over}: ${named.join(", ")}${others}.`;
}

function Frames({ row }: { row: TrendRow }) {
  if (row.frames.length < 2) return null;
  return (
    <details class="trend-frames">
      <summary class="muted">called by {plural(row.frames.length - 1, "function")}</summary>
      <ol>
        {row.frames.slice(1, FRAMES_MOST).map((name, i) => (
          <li key={i} class="name">
            <bdi>{cut(name, 300)}</bdi>
          </li>
        ))}
      </ol>
    </details>
  );
}

interface RowProps {
  row: TrendRow;
  format: Format;
  fastest: number;
  hasFlame: boolean;
}

function Row({ row, format, fastest, hasFlame }: RowProps) {
  const tone = toneOf(row);
  const width = `${Math.max(1, (100 * Math.abs(row.perSecond)) / Math.max(fastest, 1e-12))}%`;
  const name = (
    <bdi class="name" title={cut(row.frames[0], 2000)}>
      {cut(row.frames[0], 200)}
    </bdi>
  );
  return (
    <tr>
      <th scope="row">
        {hasFlame ? (
          <a href={linkTo({ view: "flame", "flame.search": row.frames[0] })}>{name}</a>
        ) : (
          name
        )}
        <Frames row={row} />
      </th>
      <td class={`number trend-${tone}`}>
        <span aria-hidden="true">{TONE_SIGNS[tone]}</span>
        <span class="hidden-but-read">{TONE_WORDS[tone]}</span> {signed(row.perSecond, format)}
      </td>
      <td class="number muted">{marginOf(row, format)}</td>
      <td class="trend-bar-cell" aria-hidden="true">
        <div class={`trend-bar trend-bar-${tone}`} style={{ width }} />
      </td>
      <td class="number trend-first">{format(row.first)}</td>
      <td class="number trend-last">{format(row.last)}</td>
      <td class="number">{stepsText(row)}</td>
      <td class="number trend-leak">
        {row.leakConfidence > 0 ? share(row.leakConfidence, 1) : "-"}
      </td>
    </tr>
  );
}

interface TableProps {
  rows: readonly TrendRow[];
  format: Format;
  hasFlame: boolean;
}

function Table({ rows, format, hasFlame }: TableProps) {
  const [most, setMost] = useParam("trend.rows", String(PAGE));
  const limit = Math.max(PAGE, Math.min(Number(most) || PAGE, 5000));
  const fastest = Math.max(0, ...rows.slice(0, PAGE).map((row) => Math.abs(row.perSecond)));
  if (rows.length === 0) return <p class="muted">Nothing was recorded.</p>;
  return (
    <>
      <div class="trend-scroll" tabIndex={0} role="group" aria-label="Trends">
        <table class="trend-table">
          <thead>
            <tr>
              <th scope="col">Function</th>
              <th scope="col">A second</th>
              <th scope="col">Margin</th>
              <td />
              <th scope="col">First</th>
              <th scope="col">Last</th>
              <th scope="col">Steps</th>
              <th scope="col">Leak</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((row, i) => (
              <Row key={i} row={row} format={format} fastest={fastest} hasFlame={hasFlame} />
            ))}
          </tbody>
        </table>
      </div>
      <ShowMore
        shown={limit}
        all={rows.length}
        onMore={() => setMost(String(limit + 5 * PAGE), "replace")}
      />
    </>
  );
}

const HELP =
  "The margin covers the distance of the snapshots from the line and the chance of sampling. A " +
  "leak goes up in most steps and never goes down; a cache goes up once. Leak: how sure it is " +
  "that a stack of the function leaks.";

function Content({ trend, views }: { trend: TrendData; views: readonly string[] }) {
  const [table, setTable] = useParam("trend.table", "functions");
  const format: Format = trend.isCount ? count : bytes;
  const isStacks = table === "stacks";
  return (
    <>
      <section class="trend-card trend-summary">
        <h2>What grows</h2>
        <p class="trend-words">
          <bdi>{answerOf(trend, format)}</bdi>
        </p>
        {trend.resident?.words && <p class="trend-words">{trend.resident.words}</p>}
        <Figures trend={trend} format={format} />
        {trend.heaps && <p class="muted">{trend.heaps}</p>}
        {trend.leftOut > 0 && (
          <p class="muted">{plural(trend.leftOut, "snapshot")} were left out of the lines.</p>
        )}
      </section>
      <section class="trend-card">
        <div class="trend-tables not-printed" role="group" aria-label="Table of">
          {["functions", "stacks"].map((key) => (
            <button
              key={key}
              type="button"
              aria-pressed={isStacks === (key === "stacks")}
              onClick={() => setTable(key)}
            >
              {key === "stacks" ? "Stacks" : "Functions"}
            </button>
          ))}
        </div>
        <p class="muted trend-help">{HELP}</p>
        <Table
          rows={isStacks ? trend.stacks : trend.functions}
          format={format}
          hasFlame={views.includes("flame")}
        />
      </section>
    </>
  );
}

/* The chosen process if it has a trend, else the first one that has. */
function processOf(profile: Profile, text: string | null): number {
  const chosen = text !== null && /^\d+$/.test(text) ? profile.processes[Number(text)] : undefined;
  if (chosen && chosen.trend !== null) return Number(text);
  return profile.processes.findIndex((process) => process.trend !== null);
}

export function Trend({ profile, views }: ViewProps) {
  const process = processOf(profile, useAddress().get("process"));
  const { value, error } = usePromise(() => profile.trend(process), [profile, process]);
  const trend = useMemo(() => value && trendOf(value), [value]);
  const options = profile.processes
    .map((each, i) => ({ value: String(i), text: cut(processTitle(profile, i), 60), each }))
    .filter(({ each }) => each.trend !== null);
  return (
    <>
      {options.length > 1 && (
        <div class="controls-bar not-printed" role="group" aria-label="What is shown">
          <Select
            label="Process"
            value={String(process)}
            options={options}
            onChange={(next) => navigate({ process: next, snapshot: null })}
          />
        </div>
      )}
      {error !== null && <Failure what="The trend cannot be read" error={error} />}
      {error === null && !trend && <p class="loading">Reading the trend…</p>}
      {error === null && trend && <Content trend={trend} views={views} />}
    </>
  );
}
