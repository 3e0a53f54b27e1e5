/*
 * The snapshots as diamonds on a line, and above them the signs of what happened.
 *
 * The line is one control: Tab leads to it, the arrows go from snapshot to snapshot, Enter opens
 * one, Shift+Enter chooses two to compare. With a mouse: click, and ctrl-click.
 */
import { useRef, useState } from "preact/hooks";

import { snapshotTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { cut } from "../format.ts";
import { timeOf } from "./curves.ts";
import { MARK_SIGNS, markTime, type Mark } from "./marks.ts";
import { isIn, type Range } from "./range.ts";

interface Props {
  profile: Profile;
  id: string;
  title: string;
  /* That of the process's curve, where there are several. */
  colour?: string;
  snapshots: readonly number[];
  range: Range;
  selected: readonly number[];
  /* The first of two snapshots to compare. */
  first: number | null;
  onOpen: (snapshot: number) => void;
  onPair: (snapshot: number) => void;
  /* A snapshot was pointed at, or is active; null: none. */
  onPoint: (snapshot: number | null) => void;
}

const percent = (time: number, range: Range) =>
  `${(100 * (time - range.from)) / (range.to - range.from)}%`;

function stateOf(profile: Profile, i: number, props: Props): string {
  const states = [];
  if (props.selected.includes(i)) states.push("timeline-selected");
  if (props.first === i) states.push("timeline-first");
  if (profile.snapshots[i].rows === null) states.push("timeline-hollow");
  if (profile.snapshots[i].name) states.push("timeline-named");
  return states.join(" ");
}

function describe(profile: Profile, i: number, first: number | null): string {
  const title = cut(snapshotTitle(profile, i), 200);
  const missing = profile.snapshots[i].rows === null ? ", only its totals are in this page" : "";
  return title + missing + (first === i ? ", chosen to be compared" : "");
}

/* Which snapshot a key makes active, of those that are shown. */
function neighbour(key: string, shown: readonly number[], active: number): number | null {
  const at = shown.indexOf(active);
  switch (key) {
    case "ArrowLeft":
      return shown[Math.max(0, at - 1)];
    case "ArrowRight":
      return shown[Math.min(shown.length - 1, at + 1)];
    case "Home":
      return shown[0];
    case "End":
      return shown[shown.length - 1];
    default:
      return null;
  }
}

export function SnapshotLane(props: Props) {
  const { profile, range, onOpen, onPair, onPoint } = props;
  const [wanted, setWanted] = useState<number | null>(null);
  const hasFocus = useRef(false);
  const shown = props.snapshots.filter((i) => isIn(timeOf(profile.snapshots[i]), range));
  const chosen = props.selected.find((i) => shown.includes(i));
  const active = wanted !== null && shown.includes(wanted) ? wanted : (chosen ?? shown[0] ?? null);
  const idOf = (i: number) => `${props.id}-${i}`;
  const onKey = (event: KeyboardEvent) => {
    if (active === null || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = neighbour(event.key, shown, active);
    if (next !== null) {
      setWanted(next);
      onPoint(next);
    } else if (event.key === "Enter" || event.key === " ") {
      if (event.shiftKey) onPair(active);
      else onOpen(active);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = (event: MouseEvent, i: number) => {
    setWanted(i);
    onPoint(i);
    if (event.ctrlKey || event.metaKey || event.shiftKey) onPair(i);
    else onOpen(i);
  };
  return (
    <div class="timeline-lane">
      <div class="timeline-lane-title" id={`${props.id}-title`} title={cut(props.title, 200)}>
        {props.colour && (
          <span class="timeline-lane-colour" style={{ background: `var(${props.colour})` }} />
        )}
        <bdi>{cut(props.title, 60)}</bdi>
      </div>
      <div
        class="timeline-lane-line"
        role="listbox"
        aria-labelledby={`${props.id}-title`}
        aria-multiselectable="true"
        aria-orientation="horizontal"
        aria-activedescendant={active === null ? undefined : idOf(active)}
        tabIndex={0}
        onKeyDown={onKey}
        onFocus={() => {
          hasFocus.current = true;
          onPoint(active);
        }}
        onBlur={() => {
          hasFocus.current = false;
          onPoint(null);
        }}
      >
        {shown.map((i) => (
          <div
            key={i}
            id={idOf(i)}
            role="option"
            aria-selected={props.selected.includes(i) || props.first === i}
            aria-label={describe(profile, i, props.first)}
            class={`timeline-diamond ${stateOf(profile, i, props)} ${
              active === i ? "timeline-active" : ""
            }`}
            style={{ left: percent(timeOf(profile.snapshots[i]), range) }}
            onClick={(event) => onClick(event, i)}
            onPointerEnter={() => onPoint(i)}
            onPointerLeave={() => onPoint(hasFocus.current ? active : null)}
          />
        ))}
      </div>
    </div>
  );
}

interface MarkProps {
  marks: readonly Mark[];
  range: Range;
  origin: number;
}

/* A sign, and a bar to the end of what lasted. */
function MarkSign({ mark, range, origin }: Omit<MarkProps, "marks"> & { mark: Mark }) {
  const from = Math.max(mark.timeMs ?? 0, range.from);
  const until = Math.min(mark.untilMs ?? from, range.to);
  const title = `${markTime(mark, origin)}: ${mark.text}`;
  const width = `${(100 * (until - from)) / (range.to - range.from)}%`;
  return (
    <>
      {until > from && (
        <span
          class={`timeline-span timeline-mark-${mark.kind}`}
          style={{ left: percent(from, range), width }}
          title={title}
        />
      )}
      <span
        class={`timeline-mark timeline-mark-${mark.kind}`}
        style={{ left: percent(from, range) }}
        title={title}
      >
        {MARK_SIGNS[mark.kind]}
      </span>
    </>
  );
}

/* Signs of what happened; the words stand in a list below, so screen readers skip them here. */
export function MarkLane({ marks, range, origin }: MarkProps) {
  const shown = marks.filter(
    ({ timeMs, untilMs }) =>
      timeMs !== null && timeMs <= range.to && (untilMs ?? timeMs) >= range.from,
  );
  return (
    <div class="timeline-lane timeline-marks" aria-hidden="true">
      {shown.map((mark) => (
        <MarkSign key={mark.key} mark={mark} range={range} origin={origin} />
      ))}
    </div>
  );
}
