/*
 * What the shown range of time contains, in one sentence, with a link to what changed in it.
 */
import type { Amount } from "../data/documents.ts";
import type { Measure } from "../data/measures.ts";
import type { Profile } from "../data/profile.ts";
import { duration, plural } from "../format.ts";
import { linkTo } from "../state.ts";
import { timeOf } from "./curves.ts";
import { measureWords, type Picture } from "./what_is_shown.ts";
import { isIn, type Range } from "./range.ts";

interface Props {
  profile: Profile;
  picture: Picture;
  range: Range;
  measure: Measure;
  pick: (of: { live: Amount; alloc: Amount }) => number;
  canDiff: boolean;
}

const ONE_SNAPSHOT =
  "There is one snapshot, so which heaps and functions had the memory before is not known.";
const RECORD_MORE = "heapscope run --dump-every 1s";

export function RangeSummary({ profile, picture, range, measure, pick, canDiff }: Props) {
  const inside = picture.snapshots.filter((i) => isIn(timeOf(profile.snapshots[i]), range));
  if (picture.snapshots.length === 1) {
    return (
      <p class="timeline-summary">
        {ONE_SNAPSHOT} <code>{RECORD_MORE}</code> takes one each second.
      </p>
    );
  }
  const length = duration((range.to - range.from) / 1000);
  if (picture.process === null || inside.length < 2) {
    return (
      <p class="timeline-summary">
        {plural(inside.length, "snapshot")} in {length}.
        {picture.process === null && " Choose a process to see its heaps and its own counters."}
      </p>
    );
  }
  const [first, last] = [inside[0], inside[inside.length - 1]];
  const values = [first, last].map((i) => measure.format(pick(profile.snapshots[i])));
  const canCompare = [first, last].every((i) => profile.snapshots[i].rows !== null);
  return (
    <p class="timeline-summary">
      {plural(inside.length, "snapshot")} in {length}: {measureWords(measure).toLowerCase()} went
      from {values[0]} to {values[1]}.{" "}
      {canDiff && canCompare && (
        <a href={linkTo({ view: "diff", "diff.before": first, "diff.after": last })}>
          What changed
        </a>
      )}
    </p>
  );
}
