/*
 * What the address selects, and the rows that belong to it, for components.
 */
import { useMemo } from "preact/hooks";

import type { Profile } from "../data/profile.ts";
import { loadSelected, selectionOf, type LoadedRows, type Selection } from "../data/selection.ts";
import { useAddress } from "../state.ts";
import { usePromise, type Settled } from "./use_promise.ts";

export function useSelection(profile: Profile): Selection {
  const address = useAddress();
  const key = ["snapshot", "measure", "process", "heap", "thread", "type", "scope", "age"]
    .map((name) => address.get(name) ?? "")
    .join("\n");
  return useMemo(() => selectionOf(profile, address), [profile, key]);
}

export function useRows(profile: Profile, snapshots: readonly number[]): Settled<LoadedRows[]> {
  return usePromise(() => loadSelected(profile, snapshots), [profile, snapshots.join()]);
}
