/*
 * Memory over time: live memory and counters as charts, snapshots as diamonds, what happened as
 * signs. A part of the time can be enlarged; a diamond leads to its stacks, two to their
 * difference.
 */
import { useMemo, useState } from "preact/hooks";

import { Select } from "../controls/select.tsx";
import { SelectionBar } from "../controls/selection_bar.tsx";
import { useTouch } from "../controls/use_touch.ts";
import { snapshotTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import type { Selection } from "../data/selection.ts";
import { cut } from "../format.ts";
import { usePromise } from "../shell/use_promise.ts";
import { navigate, useAddress } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { CounterChart, CounterMenu } from "./counter_charts.tsx";
import { defaultCounters, type Counter } from "./counters.ts";
import { timeOf } from "./curves.ts";
import { MarkLane } from "./lane.tsx";
import { choosePair, Lanes, lanesOf, pointedText } from "./lanes.tsx";
import { Happenings, SnapshotTable } from "./lists.tsx";
import { hintOf, pairHintOf } from "./hints.ts";
import { marksOf, timeText, type Mark } from "./marks.ts";
import { MemoryChart } from "./memory_chart.tsx";
import { measureWords, pickOf, pictureOf, type Picture } from "./what_is_shown.ts";
import { ProcessList } from "./process_list.tsx";
import { isIn, parseRange, rangeOfKey, rangeText, zoomed, type Range } from "./range.ts";
import { RangeSummary } from "./summary.tsx";
import "./timeline.css";

/* The peak of all heaps stands in the chart only where the chart shows what was live in all. */
function peakOf(marks: readonly Mark[], picture: Picture, { measure, heap }: Selection) {
  const isDrawn = picture.process !== null && heap === null && !measure.isCount;
  const mark = marks.find((each) => each.kind === "peak");
  if (!isDrawn || measure.quantity === "alloc" || !mark || mark.timeMs === null) return null;
  return { time: mark.timeMs, value: mark.bytes ?? 0 };
}

function ZoomButtons({ range, whole }: { range: Range; whole: Range }) {
  const isWhole = rangeText(range, whole) === null;
  const go = (next: Range) => setRange(next, whole);
  const press = (key: string) => () => go(rangeOfKey(key, range, whole) ?? range);
  return (
    <div class="timeline-zoom not-printed" role="group" aria-label="Zoom">
      <button type="button" onClick={() => go(zoomed(range, whole, 0.5))} aria-label="Zoom in">
        +
      </button>
      <button type="button" disabled={isWhole} onClick={press("-")} aria-label="Zoom out">
        −
      </button>
      <button type="button" disabled={isWhole} onClick={press("ArrowLeft")} aria-label="Earlier">
        ←
      </button>
      <button type="button" disabled={isWhole} onClick={press("ArrowRight")} aria-label="Later">
        →
      </button>
      <button type="button" disabled={isWhole} onClick={press("0")}>
        Whole time
      </button>
    </div>
  );
}

const CHARTS_LABEL =
  "Charts over time. Plus and minus zoom, the arrows move, 0 shows all. With Shift, left and " +
  "right move the end, up and down the beginning.";

function FileChoice({ profile, file }: { profile: Profile; file: number }) {
  if (profile.files.length < 2) return null;
  return (
    <Select
      label="File"
      value={String(file)}
      onChange={(value) =>
        navigate({ "timeline.file": value === "0" ? null : value, process: null, snapshot: null })
      }
      options={profile.files.map((each, i) => ({ value: String(i), text: cut(each.name, 60) }))}
    />
  );
}

interface CardProps {
  profile: Profile;
  selection: Selection;
  picture: Picture;
  marks: readonly Mark[];
  range: Range;
  first: number | null;
  target: string | null;
  canDiff: boolean;
}

function whatIsPointedAt(
  props: CardProps,
  pointed: number | null,
  cursor: number | null,
  isTouch: boolean,
): string {
  const { profile, picture, first } = props;
  const next = pairHintOf(isTouch);
  if (pointed !== null) {
    return pointedText(profile, pointed) + (pointed === first ? `; it is chosen: ${next}` : "");
  }
  if (cursor !== null) return `at ${timeText(cursor, picture.origin)}`;
  if (first === null) return hintOf(isTouch);
  return `${cut(snapshotTitle(profile, first), 100)} is chosen: ${next}`;
}

/* The counters that are shown, and how others are chosen. */
function useCounters(picture: Picture): [Counter[], (names: readonly string[]) => void] {
  const named = useAddress().all("timeline.counter");
  const names = named.length > 0 ? named : defaultCounters(picture.counters);
  const shown = picture.counters.filter((counter) => names.includes(counter.name));
  const choose = (next: readonly string[]) =>
    navigate({ "timeline.counter": next.length > 0 ? next : ["none"] });
  return [shown, choose];
}

/* What the stack of the main chart consists of. */
function partsOf({ process, curves }: Picture): string {
  if (curves.length === 0) return "";
  return process === null ? ", process by process" : ", heap by heap";
}

function setRange(next: Range | null, whole: Range, how: "push" | "replace" = "push"): void {
  const shown = next && parseRange(rangeText(next, whole), whole);
  navigate({ "timeline.range": shown && rangeText(shown, whole) }, how);
}

function zoomWithKeys(event: KeyboardEvent, range: Range, whole: Range): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const next = rangeOfKey(event.key, range, whole, event.shiftKey);
  if (next === null) return;
  event.preventDefault();
  setRange(next, whole, "replace");
}

function ChartsCard(props: CardProps) {
  const { profile, selection, picture, marks, range } = props;
  const { whole, origin } = picture;
  const [cursor, setCursor] = useState<number | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const isTouch = useTouch();
  const [counters, chooseCounters] = useCounters(picture);
  const peak = useMemo(() => peakOf(marks, picture, selection), [marks, picture, selection]);
  const rules = useMemo(() => {
    const times = marks.map((mark) => mark.timeMs);
    return picture.process === null ? [] : times.filter((time) => time !== null);
  }, [marks, picture]);
  const chart = {
    range,
    rules,
    cursor: pointed === null ? cursor : timeOf(profile.snapshots[pointed]),
    onRange: (next: Range | null) => setRange(next, whole),
    onCursor: setCursor,
  };
  return (
    <section class="timeline-card">
      <div class="timeline-head">
        <h2>
          {measureWords(selection.measure)} over time
          {partsOf(picture)}
        </h2>
        <ZoomButtons range={range} whole={whole} />
      </div>
      <div
        class="timeline-charts"
        role="group"
        tabIndex={0}
        aria-label={CHARTS_LABEL}
        onKeyDown={(event) => zoomWithKeys(event, range, whole)}
      >
        <MemoryChart picture={picture} selection={selection} peak={peak} {...chart} />
        <MarkLane marks={marks} range={range} origin={origin} />
        <Lanes {...props} selected={selection.snapshots} onPoint={setPointed} />
        <p class="timeline-detail" role="status">
          {whatIsPointedAt(props, pointed, cursor, isTouch)}
        </p>
        <RangeSummary {...props} measure={selection.measure} pick={pickOf(selection.measure)} />
        {counters.map((counter, i) => (
          <CounterChart
            key={counter.name}
            counter={counter}
            colour={`--series-${1 + ((i + 2) % 8)}`}
            origin={origin}
            {...chart}
          />
        ))}
      </div>
      <CounterMenu
        counters={picture.counters}
        chosen={counters.map((counter) => counter.name)}
        onChange={chooseCounters}
      />
      {picture.process === null && (
        <p class="muted timeline-summary">
          Where processes are added up, memory that they share counts in each of them.
        </p>
      )}
    </section>
  );
}

/* The snapshot that was chosen first, of two. */
function firstOf(profile: Profile, text: string | null): number | null {
  const index = text !== null && /^\d+$/.test(text) ? Number(text) : -1;
  return index >= 0 && index < profile.snapshots.length ? index : null;
}

export function Timeline({ profile, selection, views }: ViewProps) {
  const address = useAddress();
  const picture = useMemo(
    () => pictureOf(profile, selection, address),
    [profile, selection, address.get("process"), address.get("timeline.file")],
  );
  const range = parseRange(address.get("timeline.range"), picture.whole);
  const { value: report } = usePromise(() => profile.report(picture.file), [picture.file]);
  const marks = useMemo(
    () => marksOf(profile, picture.processes, lanesOf(picture), report),
    [profile, picture, report],
  );
  const shared = {
    profile,
    first: firstOf(profile, address.get("timeline.first")),
    target: views.includes("flame") ? "flame" : null,
    canDiff: views.includes("diff"),
  };
  const shown = picture.snapshots.filter((i) => isIn(timeOf(profile.snapshots[i]), range));
  return (
    <>
      <SelectionBar
        profile={profile}
        selection={selection}
        choices={["measure", "process", "heap"]}
      >
        <FileChoice profile={profile} file={picture.file} />
      </SelectionBar>
      <ChartsCard {...shared} selection={selection} picture={picture} marks={marks} range={range} />
      <Happenings marks={marks} origin={picture.origin} />
      <ProcessList profile={profile} file={picture.file} process={picture.process} />
      <SnapshotTable
        {...shared}
        snapshots={shown}
        origin={picture.origin}
        onPair={(snapshot) => choosePair(profile, shared.first, snapshot, shared.canDiff)}
      />
    </>
  );
}
