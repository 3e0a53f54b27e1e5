/*
 * Which two snapshots are compared, and by which measure.
 */
import { Select, type Option } from "../controls/select.tsx";
import "../controls/controls.css";
import { MEASURES, type Measure } from "../data/measures.ts";
import { processTitle, snapshotTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { hasPeak } from "../data/selection.ts";
import { cut } from "../format.ts";
import { navigate } from "../state.ts";
import type { Sides } from "./sides.ts";

/* The name of a snapshot, with its process and file where there are several. */
function titleOf(profile: Profile, index: number): string {
  const { process } = profile.snapshots[index];
  const file = profile.files[profile.processes[process].file];
  const parts = [snapshotTitle(profile, index)];
  if (profile.processes.length > 1) parts.unshift(processTitle(profile, process));
  if (profile.files.length > 1) parts.unshift(file.name.replace(/^.*\//, ""));
  return cut(parts.join(": "), 120);
}

/* Each snapshot with rows, and what the report of each file is about, if that is several. */
function optionsOf(profile: Profile, chosen: readonly number[]): Option[] {
  const wholes = profile.files
    .map((file) => ({
      value: file.selected.filter((i) => profile.snapshots[i].rows !== null).join(","),
      text: `${cut(file.name.replace(/^.*\//, ""), 60)}: each process, as in the report`,
    }))
    .filter(({ value }) => value.includes(","));
  const singles = profile.snapshots.map((snapshot, i) => ({
    value: String(i),
    text: titleOf(profile, i) + (snapshot.rows === null ? " (totals only)" : ""),
    isDisabled: snapshot.rows === null,
  }));
  const options = [...wholes, ...singles];
  const value = chosen.join(",");
  if (options.some((option) => option.value === value)) return options;
  return [{ value, text: `${chosen.length} snapshots` }, ...options];
}

interface Props {
  profile: Profile;
  sides: Sides;
  measure: Measure;
}

export function SideChoice({ profile, sides, measure }: Props) {
  const isPeakThere = hasPeak(profile, [...sides.before, ...sides.after]);
  const [before, after] = [sides.before.join(","), sides.after.join(",")];
  return (
    <>
      <Select
        label="Before"
        value={before}
        options={optionsOf(profile, sides.before)}
        onChange={(value) => navigate({ "diff.before": value, "diff.after": after })}
      />
      <button
        type="button"
        onClick={() => navigate({ "diff.before": after, "diff.after": before })}
        aria-label="Exchange before and after"
        title="Exchange before and after"
      >
        ⇄
      </button>
      <Select
        label="After"
        value={after}
        options={optionsOf(profile, sides.after)}
        onChange={(value) => navigate({ "diff.before": before, "diff.after": value })}
      />
      <Select
        label="Show"
        value={measure.name}
        onChange={(value) => navigate({ measure: value })}
        options={MEASURES.map(({ name, title, quantity }) => ({
          value: name,
          text: quantity === "peak" && !isPeakThere ? `${title} (not recorded)` : title,
          isDisabled: quantity === "peak" && !isPeakThere,
        }))}
      />
    </>
  );
}
