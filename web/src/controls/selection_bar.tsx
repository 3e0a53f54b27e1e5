/*
 * Chooses what a view shows: snapshot, measure, process, heap. Filters by thread, type, scope and
 * age, which other views set, stand here as buttons that remove them.
 *
 * The choices are part of the address and hold for all views. A choice with one possible value is
 * not drawn.
 */
import type { ComponentChildren } from "preact";

import { MEASURES } from "../data/measures.ts";
import { partName, processTitle, snapshotTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { hasPeak, PART_KEYS, type Selection } from "../data/selection.ts";
import { cut } from "../format.ts";
import { navigate, useAddress } from "../state.ts";
import "./controls.css";
import { Folded } from "./folded.tsx";
import { Select, type Option } from "./select.tsx";

export type Choice = "snapshot" | "measure" | "process" | "heap";

interface Props {
  profile: Profile;
  selection: Selection;
  choices?: readonly Choice[];
  /* What is chosen, where the view knows it better. */
  words?: string;
  /* More controls, of the view itself. */
  children?: ComponentChildren;
}

const ALL: readonly Choice[] = ["measure", "snapshot", "process", "heap"];

function snapshotOptions(profile: Profile, process: number | null): Option[] {
  const single = profile.processes.filter((p) => p.refusal === null).length === 1;
  const all = profile.snapshots.map((_, i) => i);
  const shown = all.filter((i) => process === null || profile.snapshots[i].process === process);
  const options = shown.map((i) => {
    const prefix = single
      ? ""
      : `${cut(processTitle(profile, profile.snapshots[i].process), 40)}: `;
    const isMissing = profile.snapshots[i].rows === null;
    const text = prefix + snapshotTitle(profile, i) + (isMissing ? " (totals only)" : "");
    return { value: String(i), text, isDisabled: isMissing };
  });
  return single ? options : [{ value: "", text: "as in the report" }, ...options];
}

function Filters({ profile, selection }: { profile: Profile; selection: Selection }) {
  const set = PART_KEYS.filter((key) => selection.parts[key] !== null);
  return (
    <>
      {set.map((key) => (
        <button
          key={key}
          type="button"
          class="controls-filter"
          onClick={() => navigate({ [key]: null })}
          aria-label={`Remove the filter by ${key}`}
        >
          {key} <bdi>{cut(partName(profile, key, selection.parts[key] ?? -1), 60)}</bdi>
          <span aria-hidden="true"> ×</span>
        </button>
      ))}
    </>
  );
}

/* What is chosen, in one line: "Live memory · at the end, 9.53 s". */
function wordsOf(
  profile: Profile,
  selection: Selection,
  choices: readonly Choice[],
  process: string | null,
): string {
  const { snapshots, heap, measure, parts } = selection;
  const isShown = (choice: Choice) => choices.includes(choice);
  const words = [];
  if (isShown("measure")) words.push(measure.title);
  if (isShown("snapshot") && snapshots.length === 1) {
    words.push(snapshotTitle(profile, snapshots[0]));
  }
  if (isShown("process") && process !== null && profile.processes[Number(process)]) {
    words.push(cut(processTitle(profile, Number(process)), 40));
  }
  if (isShown("heap") && heap !== null) words.push(cut(profile.heaps[heap].name, 40));
  for (const key of PART_KEYS) {
    const part = parts[key];
    if (part !== null) words.push(`${key} ${cut(partName(profile, key, part), 40)}`);
  }
  return words.length > 0 ? words.join(" · ") : "What is shown";
}

export function SelectionBar({ profile, selection, choices = ALL, words, children }: Props) {
  const address = useAddress();
  const process = address.get("process");
  const snapshots = snapshotOptions(profile, process === null ? null : Number(process));
  const processes = profile.processes
    .map((each, i) => ({ value: String(i), text: cut(processTitle(profile, i), 60), each }))
    .filter(({ each }) => each.refusal === null);
  const heaps = profile.heaps.map((heap, i) => ({ value: String(i), text: cut(heap.name, 60) }));
  const isPeakThere = hasPeak(profile, selection.snapshots);
  const isShown = (choice: Choice) => choices.includes(choice);
  return (
    <Folded words={words ?? wordsOf(profile, selection, choices, process)}>
      <div class="controls-bar" role="group" aria-label="What is shown">
        {isShown("measure") && (
          <Select
            label="Show"
            value={selection.measure.name}
            onChange={(value) => navigate({ measure: value })}
            options={MEASURES.map(({ name, title, quantity }) => ({
              value: name,
              text: quantity === "peak" && !isPeakThere ? `${title} (not recorded)` : title,
              isDisabled: quantity === "peak" && !isPeakThere,
            }))}
          />
        )}
        {isShown("snapshot") && snapshots.length > 1 && (
          <Select
            label="Snapshot"
            value={selection.snapshots.length === 1 ? String(selection.snapshots[0]) : ""}
            onChange={(value) => navigate({ snapshot: value || null })}
            options={snapshots}
          />
        )}
        {isShown("process") && processes.length > 1 && (
          <Select
            label="Process"
            value={process ?? ""}
            onChange={(value) => navigate({ process: value || null, snapshot: null })}
            options={[{ value: "", text: "all" }, ...processes]}
          />
        )}
        {isShown("heap") && heaps.length > 1 && (
          <Select
            label="Heap"
            value={selection.heap === null ? "" : String(selection.heap)}
            onChange={(value) => navigate({ heap: value || null })}
            options={[{ value: "", text: "all that are counted" }, ...heaps]}
          />
        )}
        <Filters profile={profile} selection={selection} />
        {children}
      </div>
    </Folded>
  );
}
