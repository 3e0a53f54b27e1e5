/*
 * The view "Resident memory": what the kernel counts as resident, explained line by line.
 */
import { SelectionBar } from "../controls/selection_bar.tsx";
import type { Ledger as LedgerDocument, Report } from "../data/documents.ts";
import { highestLedger } from "../data/ledger_parts.ts";
import { snapshotTitle, processTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { partsOfReport } from "../data/report_parts.ts";
import type { Selection } from "../data/selection.ts";
import { Failure } from "../shell/failure.tsx";
import { usePromise } from "../shell/use_promise.ts";
import { useParam } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { LedgerBar } from "./ledger_bar.tsx";
import "./ledger.css";
import { PinnedCard } from "./pinned.tsx";

interface Shown {
  title: string;
  ledger: LedgerDocument | null;
  /* The paragraph of the report, and what it says about pages; null for other snapshots. */
  report: Report | null;
}

/* The file whose report is about exactly these snapshots; -1: they are of the reader's choice. */
function reportedFile(profile: Profile, { snapshots }: Selection, file: number): boolean {
  const own = snapshots.filter(
    (i) => profile.processes[profile.snapshots[i].process].file === file,
  );
  const { selected } = profile.files[file];
  return own.length === selected.length && own.every((i) => selected.includes(i));
}

/* What the report has for its snapshots, and the ledger of each other selected one. */
async function loadShown(profile: Profile, selection: Selection): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (let file = 0; file < profile.files.length; file++) {
    const own = selection.snapshots.filter(
      (i) => profile.processes[profile.snapshots[i].process].file === file,
    );
    if (own.length === 0) continue;
    if (reportedFile(profile, selection, file)) {
      const report = await profile.report(file);
      const title = profile.files.length > 1 ? profile.files[file].name : "";
      shown.push({ title, ledger: report.ledger ?? null, report });
      continue;
    }
    for (const i of own) {
      const process = processTitle(profile, profile.snapshots[i].process);
      const title = `${process}, ${snapshotTitle(profile, i)}`;
      shown.push({ title, ledger: await profile.ledger(i), report: null });
    }
  }
  return shown;
}

function OneLedger({ profile, shown }: { profile: Profile; shown: Shown }) {
  const { title, report } = shown;
  const [at, setAt] = useParam("ledger.at", "snapshot");
  const highest = report && highestLedger(report);
  const isHighest = at === "highest" && highest !== null;
  const ledger = isHighest ? highest : shown.ledger;
  /* The paragraph of the report is about the moment at which the most was resident. */
  const words = highest === null || isHighest ? (report?.resident_answer ?? null) : null;
  const pinned = report ? partsOfReport(report).pinned_pages : undefined;
  return (
    <div class="ledger-view">
      {title && (
        <h2 class="name ledger-title">
          <bdi>{title}</bdi>
        </h2>
      )}
      {highest && (
        <div class="ledger-moments not-printed" role="group" aria-label="Moment">
          <button type="button" aria-pressed={!isHighest} onClick={() => setAt("snapshot")}>
            At the snapshot
          </button>
          <button type="button" aria-pressed={isHighest} onClick={() => setAt("highest")}>
            When most was resident
          </button>
        </div>
      )}
      {ledger ? (
        <LedgerBar ledger={ledger} words={words} />
      ) : (
        <p>What the resident memory consisted of was not recorded at this moment.</p>
      )}
      {report && <PinnedCard profile={profile} pinned={pinned ?? null} />}
    </div>
  );
}

export function Ledger({ profile, selection }: ViewProps) {
  const shown = usePromise(
    () => loadShown(profile, selection),
    [profile, selection.snapshots.join()],
  );
  return (
    <>
      <SelectionBar profile={profile} selection={selection} choices={["snapshot", "process"]} />
      {shown.error !== null && (
        <Failure what="The resident memory cannot be read" error={shown.error} />
      )}
      {!shown.value && shown.error === null && <p class="loading">Reading…</p>}
      {shown.value?.map((each, i) => (
        <OneLedger key={i} profile={profile} shown={each} />
      ))}
      {shown.value?.length === 0 && <p>No snapshot is selected.</p>}
    </>
  );
}
