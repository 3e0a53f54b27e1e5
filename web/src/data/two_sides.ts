/*
 * What a comparison of two sides needs besides their figures: the most that one sample stands for
 * on a side, and whether one side contains the other. Flame graph and difference both use it, so
 * that they state the same margin and verdict. docs/PAGE.md ("Margins and verdicts") has the rules,
 * which are those of hs_diff_build() and hs_diff_change_of() in src/profile/analyse.
 */
import type { Quantity, Snapshot } from "./documents.ts";
import { familiesOf } from "./figures.ts";
import { countWeight } from "./margin.ts";
import type { Profile } from "./profile.ts";
import type { LoadedRows, Selection } from "./selection.ts";

/* The widest weight of the chosen heap, or of all that the snapshot counts, in bytes. */
function widestOf(snapshot: Snapshot, heap: number | null): number {
  const chosen = snapshot.heaps.find((each) => each.heap === heap);
  return chosen?.weight_bytes ?? snapshot.weight_bytes;
}

/* Whether all counts of this snapshot that are shown are numbers of samples. */
function hasSampleCounts({ heaps }: Snapshot, heap: number | null): boolean {
  const chosen = heaps.filter((each) => (heap === null ? each.is_counted : each.heap === heap));
  return chosen.length > 0 && chosen.every((each) => each.has_sample_counts);
}

/*
 * The most that one sample stands for on a side: of the chosen heap, or of all. A side may have
 * missed blocks of this size even where it has no row, and in each process of a family.
 */
export function weightOfSide(
  profile: Profile,
  loaded: readonly LoadedRows[],
  { heap, measure }: Selection,
): number {
  const snapshots = loaded.map(({ snapshot }) => snapshot);
  const areSamples = snapshots.every((snapshot) => hasSampleCounts(snapshot, heap));
  if (measure.isCount && snapshots.length > 0 && areSamples) return 1;
  const most = Math.max(0, ...snapshots.map((snapshot) => widestOf(snapshot, heap)));
  const weight = measure.isCount ? countWeight(most) : most > 1 ? most : 0;
  return weight * Math.max(1, ...familiesOf(profile, loaded).map((family) => family.descent));
}

/*
 * Whether `after` contains all of `before`: both count what the same processes had allocated, at a
 * later moment.
 */
export function isCumulative(
  profile: Profile,
  before: readonly number[],
  after: readonly number[],
  quantity: Quantity,
): boolean {
  if (quantity !== "alloc" || before.length === 0) return false;
  return before.every((i) => {
    const early = profile.snapshots[i];
    return after.some((k) => {
      const late = profile.snapshots[k];
      return late.process === early.process && (late.time_ms ?? 0) >= (early.time_ms ?? 0);
    });
  });
}
