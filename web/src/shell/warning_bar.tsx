/*
 * The warnings of the reports that touch what a view shows, at its top: lost and cut data, missing
 * names, uncertain figures. Serious ones stand open, remarks behind one line.
 */
import { usePrinting } from "../controls/use_printing.ts";
import type { Profile } from "../data/profile.ts";
import type { Warning } from "../data/documents.ts";
import type { Selection } from "../data/selection.ts";
import { keepUnits, plural } from "../format.ts";
import { usePromise } from "./use_promise.ts";

/* The files whose snapshots are shown. */
export function filesOf(profile: Profile, snapshots: readonly number[]): number[] {
  const files = snapshots.map((i) => profile.processes[profile.snapshots[i].process].file);
  return files.length > 0 ? [...new Set(files)] : profile.files.map((_, i) => i);
}

export function touching(warnings: readonly Warning[], figures: readonly string[]): Warning[] {
  return warnings.filter((warning) => warning.views.some((view) => figures.includes(view)));
}

interface Props {
  profile: Profile;
  selection: Selection;
  figures: readonly string[];
}

export function WarningBar({ profile, selection, figures }: Props) {
  const isPrinting = usePrinting();
  const files = filesOf(profile, selection.snapshots);
  const { value } = usePromise(
    async () => (await Promise.all(files.map(profile.report))).flatMap((r) => r.warnings ?? []),
    [profile, files.join()],
  );
  const found = touching(value ?? [], figures);
  const serious = found.filter((warning) => warning.is_serious);
  const remarks = found.filter((warning) => !warning.is_serious);
  if (found.length === 0) return null;
  return (
    <section class="shell-warnings" aria-label="Warnings">
      {serious.length > 0 && (
        <ul class="shell-serious">
          {serious.map((warning, i) => (
            <li key={i}>{keepUnits(warning.text)}</li>
          ))}
        </ul>
      )}
      {remarks.length > 0 && (
        <details class="shell-remarks" open={isPrinting ? true : undefined}>
          <summary>{plural(remarks.length, "remark")} on these figures</summary>
          <ul>
            {remarks.map((warning, i) => (
              <li key={i}>{keepUnits(warning.text)}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
