/*
 * What recording cost in each process: samples, memory, and by how much less was sampled to keep
 * within its limits.
 */
import type { Report } from "../data/documents.ts";
import { processTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { NameText } from "../controls/name_text.tsx";
import { bytes, count, duration, NOT_RECORDED, share } from "../format.ts";

interface Props {
  profile: Profile;
  file: number;
  report: Report;
}

/* The last snapshot of a process: -1, it has none. */
function lastSnapshot(profile: Profile, process: number): number {
  let last = -1;
  profile.snapshots.forEach((snapshot, i) => {
    if (snapshot.process === process) last = i;
  });
  return last;
}

/* What the ledger counts as heapscope's own: it is resident, the tables may be larger. */
function residentOfRecorder(report: Report): number | null {
  const lines = report.ledger?.lines.filter((line) => line.kind === "recorder") ?? [];
  return lines.length > 0 ? lines.reduce((sum, line) => sum + line.rss_bytes, 0) : null;
}

function intervalText(interval: number | null): string {
  if (interval === null) return NOT_RECORDED;
  return interval > 1 ? bytes(interval) : "every allocation";
}

export function Cost({ profile, file, report }: Props) {
  const own = profile.processes
    .map((process, i) => ({ process, i, snapshot: lastSnapshot(profile, i) }))
    .filter(({ process, snapshot }) => process.file === file && snapshot >= 0);
  const changes = profile.changes.filter(
    (change) => profile.processes[change.process]?.file === file,
  );
  const resident = residentOfRecorder(report);
  return (
    <section class="health-card">
      <h2>What recording cost</h2>
      {resident !== null && (
        <p>
          {bytes(resident)} of the resident memory are heapscope’s own,{" "}
          {share(resident, report.ledger?.rss_bytes)}.
        </p>
      )}
      <div class="health-scroll" tabIndex={0} role="region" aria-label="Cost by process">
        <table class="health-table">
          <thead>
            <tr>
              <th>Process</th>
              <th class="number">Samples</th>
              <th class="number">Interval</th>
              <th class="number" title="Of the recorder’s tables in the process">
                Memory
              </th>
              <th class="number">CPU time</th>
            </tr>
          </thead>
          <tbody>
            {own.map(({ i, snapshot }) => {
              const last = profile.snapshots[snapshot];
              return (
                <tr key={i}>
                  <td>
                    <NameText text={processTitle(profile, i)} />
                  </td>
                  <td class="number">{count(last.sample_count)}</td>
                  <td class="number">{intervalText(last.interval_bytes)}</td>
                  <td class="number">{bytes(last.recorder_bytes)}</td>
                  <td class="number">{NOT_RECORDED}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {changes.length > 0 && (
        <>
          <h3>The interval changed {count(changes.length)} times</h3>
          <ul class="health-head">
            {changes.slice(0, 100).map((change, i) => (
              <li key={i}>
                {change.time_ms !== null && `after ${duration(change.time_ms / 1000)}: `}
                <bdi>{change.text}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
