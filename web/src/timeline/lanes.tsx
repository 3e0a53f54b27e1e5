/*
 * The lines of diamonds: one for the chosen process, or one for each of the largest ones; and what
 * a click on a diamond does.
 */
import { processName, snapshotTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { bytes, count, cut, margin } from "../format.ts";
import { navigate } from "../state.ts";
import { timeOf } from "./curves.ts";
import { SnapshotLane } from "./lane.tsx";
import type { Picture } from "./what_is_shown.ts";
import { isIn, type Range } from "./range.ts";

/* Processes with a line of diamonds of their own, while all are shown. */
const LANES_MOST = 8;

/* Two snapshots in the order of time; those of one process only are one after the other. */
export function inOrder(profile: Profile, a: number, b: number): [number, number] {
  return timeOf(profile.snapshots[a]) <= timeOf(profile.snapshots[b]) ? [a, b] : [b, a];
}

/* The first call chooses a snapshot, the second one shows the difference of both. */
export function choosePair(
  profile: Profile,
  first: number | null,
  next: number,
  canDiff: boolean,
): void {
  if (profile.snapshots[next].rows === null) return;
  if (first === next) navigate({ "timeline.first": null });
  else if (first === null || !canDiff) navigate({ "timeline.first": next });
  else {
    const [before, after] = inOrder(profile, first, next);
    navigate({
      view: "diff",
      "diff.before": before,
      "diff.after": after,
      "timeline.first": null,
    });
  }
}

export function pointedText(profile: Profile, index: number): string {
  const { live, rss_bytes: rss } = profile.snapshots[index];
  const error = margin(live.bytes, live.bytes_low, live.bytes_high, bytes);
  const title = cut(snapshotTitle(profile, index), 100);
  const liveText = `${bytes(live.bytes)} ${error}`.trim();
  const resident = rss === null ? "resident memory not recorded" : `${bytes(rss)} resident`;
  return `${title}: ${liveText} live in ${count(live.count)} objects, ${resident}`;
}

/* The processes that have a line of diamonds: the one that is chosen, or the largest ones. */
export function lanesOf(picture: Picture): number[] {
  if (picture.process !== null) return [picture.process];
  const own = picture.curves.filter((curve) => curve.key.startsWith("process "));
  return own.map((curve) => Number(curve.key.slice("process ".length))).slice(0, LANES_MOST);
}

interface LanesProps {
  profile: Profile;
  picture: Picture;
  range: Range;
  selected: readonly number[];
  first: number | null;
  target: string | null;
  canDiff: boolean;
  onPoint: (snapshot: number | null) => void;
}

/* The pid comes first: the line has room for little more. */
function laneTitle(profile: Profile, process: number): string {
  return `${profile.processes[process].pid} ${processName(profile, process)}`;
}

function colourOfLane(picture: Picture, process: number): string {
  return `--series-${1 + picture.curves.findIndex((each) => each.key === `process ${process}`)}`;
}

export function Lanes({ profile, picture, range, first, target, canDiff, ...props }: LanesProps) {
  const lanes = lanesOf(picture);
  const open = (snapshot: number) => {
    if (profile.snapshots[snapshot].rows === null) return;
    navigate({ snapshot, ...(target === null ? {} : { view: target }) });
  };
  return (
    <>
      {lanes.map((process) => {
        const own = picture.snapshots.filter((i) => profile.snapshots[i].process === process);
        const shown = own.filter((i) => isIn(timeOf(profile.snapshots[i]), range));
        if (shown.length === 0) return null;
        return (
          <SnapshotLane
            key={process}
            id={`timeline-lane-${process}`}
            title={picture.process === null ? laneTitle(profile, process) : "Snapshots"}
            {...(picture.process === null ? { colour: colourOfLane(picture, process) } : {})}
            profile={profile}
            snapshots={shown}
            range={range}
            first={first}
            onOpen={open}
            onPair={(snapshot) => choosePair(profile, first, snapshot, canDiff)}
            {...props}
          />
        );
      })}
    </>
  );
}
