/*
 * The sums of the current selection, with the filters of stacks that the address has.
 */
import { useMemo } from "preact/hooks";

import type { Profile } from "../data/profile.ts";
import { filtersOf, filterText } from "../data/select_filters.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import { useAddress } from "../state.ts";
import { makeSums, type Sums } from "./sums.ts";

/* null while there are no rows. */
export function useSums(
  profile: Profile,
  loaded: readonly LoadedRows[] | null,
  selection: Selection,
): Sums | null {
  const filters = filtersOf(useAddress());
  const { snapshots, heap, parts } = selection;
  /* The measure is not among the keys: the sums have all measures. */
  const key = JSON.stringify([snapshots, heap, parts, filters.map(filterText)]);
  return useMemo(
    () => loaded && makeSums(profile, loaded, selection, filters),
    [profile, loaded, key],
  );
}
