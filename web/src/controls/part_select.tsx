/*
 * Chooses a thread or a type: of those that hold something in the selected snapshots, the largest
 * first. Where the files do not record it, the choice says so.
 */
import { useMemo } from "preact/hooks";

import { breakdown } from "../data/breakdown.ts";
import { partName } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import { cut } from "../format.ts";
import { navigate } from "../state.ts";
import { Select, type Option } from "./select.tsx";

const OFFERED = 200;

interface Props {
  profile: Profile;
  rows: readonly LoadedRows[];
  selection: Selection;
  part: "thread" | "type";
}

export function PartSelect({ profile, rows, selection, part }: Props) {
  const options = useMemo((): Option[] | null => {
    const found = breakdown(profile, rows, selection, part);
    return (
      found &&
      found.slice(0, OFFERED).map(({ id, value }) => ({
        value: String(id),
        text: `${cut(partName(profile, part, id), 50)} (${selection.measure.format(value)})`,
      }))
    );
  }, [profile, rows, selection, part]);
  const label = part === "thread" ? "Thread" : "Type";
  const chosen = selection.parts[part];
  const none = { value: "", text: options ? "all" : "not recorded" };
  const isListed = options?.some((option) => option.value === String(chosen)) ?? false;
  const other =
    chosen === null || isListed
      ? []
      : [{ value: String(chosen), text: cut(partName(profile, part, chosen), 50) }];
  if (options && options.length < 2 && chosen === null) return null;
  return (
    <Select
      label={label}
      value={chosen === null ? "" : String(chosen)}
      onChange={(value) => navigate({ [part]: value || null })}
      isDisabled={!options && chosen === null}
      options={[none, ...other, ...(options ?? [])]}
    />
  );
}
