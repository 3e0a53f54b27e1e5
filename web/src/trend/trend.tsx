/*
 * What grows over the snapshots of one process: a straight line through them for each function and
 * stack, as C fitted it.
 */
import { useMemo } from "preact/hooks";

import "../controls/change.css";
import "../controls/controls.css";
import { Select } from "../controls/select.tsx";
import { processTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { bytes, count, cut, duration, keepUnits, plural, rateUnit } from "../format.ts";
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
} from "./lines.ts";
import "./trend.css";
import { TrendTable } from "./trend_table.tsx";
import { marginText, slopeText, stepsText, type Format } from "./line_words.ts";

/* Whether a process has enough snapshots for a line. */
export function hasTrend(profile: Profile): boolean {
  return profile.processes.some((process) => process.trend !== null);
}

function Figures({ trend, format }: { trend: TrendData; format: Format }) {
  const unit = rateUnit(trend.seconds);
  const what = trend.isCount ? "Live objects" : "Live memory";
  const lines: [string, Line, Format][] = [[what, trend.total, format]];
  if (trend.resident?.line) lines.push(["Resident memory", trend.resident.line, bytes]);
  return (
    <dl class="change-figures">
      {lines.map(([name, line, formatOf]) => {
        const tone = toneOf(line);
        return (
          <div key={name}>
            <dt>
              {name}: {TONE_WORDS[tone]}
            </dt>
            <dd class={`change-${tone}`}>
              <span aria-hidden="true">{TONE_SIGNS[tone]}</span> {slopeText(line, formatOf, unit)}
            </dd>
            <dd class="muted change-more">
              {[
                marginText(line, formatOf, unit),
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
    .map((row) => `${cut(row.frames[0], 80)} (${slopeText(row, format, rateUnit(trend.seconds))})`);
  const rest = growing.length - named.length;
  const others = rest > 0 ? ` and ${plural(rest, "other function")}` : "";
  return `What grows ${over}: ${named.join(", ")}${others}.`;
}

/* By the cause of growth: what the difference of two snapshots says of it. */
const DIFFERENCE_SAYS: Readonly<Record<string, string>> = {
  held: "shows whose blocks were added",
  mapped: "shows which functions mapped it",
  allocator: "shows whether blocks were added, and whose",
};

/* The first and the last snapshot of the process whose stacks are in the page. */
function endsOf(profile: Profile, process: number): [number, number] | null {
  const own = profile.snapshots
    .map((snapshot, i) => ({ snapshot, i }))
    .filter(({ snapshot }) => snapshot.process === process && snapshot.rows !== null);
  return own.length < 2 ? null : [own[0].i, own[own.length - 1].i];
}

interface ResidentProps {
  profile: Profile;
  process: number;
  resident: NonNullable<TrendData["resident"]>;
  views: readonly string[];
}

/* How the resident memory grows, and where to see more. */
function ResidentWords({ profile, process, resident, views }: ResidentProps) {
  const ends = endsOf(profile, process);
  const isGrowing = resident.line !== null && toneOf(resident.line) === "grew";
  const says = isGrowing ? DIFFERENCE_SAYS[resident.cause] : undefined;
  return (
    <p class="change-words">
      {keepUnits(resident.words)}
      {says !== undefined && ends !== null && views.includes("diff") && (
        <>
          {" "}
          <a href={linkTo({ view: "diff", "diff.before": ends[0], "diff.after": ends[1] })}>
            The difference of the first and the last snapshot
          </a>{" "}
          {says}.
        </>
      )}
    </p>
  );
}

const HELP =
  "The margin covers the distance of the snapshots from the line and the chance of sampling. A " +
  "leak goes up in most steps and never goes down; a cache goes up once. Leak: how sure it is " +
  "that a stack of the function leaks.";

interface ContentProps {
  profile: Profile;
  process: number;
  trend: TrendData;
  views: readonly string[];
}

function Content({ profile, process, trend, views }: ContentProps) {
  const [table] = useParam("trend.table", "functions");
  const choose = (key: string) =>
    navigate({ "trend.table": key === "functions" ? null : key, "trend.row": null });
  const format: Format = trend.isCount ? count : bytes;
  const isStacks = table === "stacks";
  return (
    <>
      <section class="change-card change-summary">
        <h2>What grows</h2>
        <p class="change-words">
          <bdi>{answerOf(trend, format)}</bdi>
        </p>
        {trend.resident?.words && (
          <ResidentWords
            profile={profile}
            process={process}
            resident={trend.resident}
            views={views}
          />
        )}
        <Figures trend={trend} format={format} />
        {trend.heaps && <p class="muted">{trend.heaps}</p>}
        {trend.leftOut > 0 && (
          <p class="muted">{plural(trend.leftOut, "snapshot")} were left out of the lines.</p>
        )}
      </section>
      <section class="change-card">
        <div class="change-buttons not-printed" role="group" aria-label="Table of">
          {["functions", "stacks"].map((key) => (
            <button
              key={key}
              type="button"
              aria-pressed={isStacks === (key === "stacks")}
              onClick={() => choose(key)}
            >
              {key === "stacks" ? "Stacks" : "Functions"}
            </button>
          ))}
        </div>
        <p class="muted trend-help">{HELP}</p>
        <TrendTable
          rows={isStacks ? trend.stacks : trend.functions}
          isOfStacks={isStacks}
          format={format}
          views={views}
          unit={rateUnit(trend.seconds)}
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
      {error === null && trend && (
        <Content profile={profile} process={process} trend={trend} views={views} />
      )}
    </>
  );
}
