/*
 * What recording cost in each process: samples, memory, and by how much less was sampled to keep
 * within its limits.
 */
import type { Report } from "../data/documents.ts";
import { processTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { partsOfReport, type RecordingCost } from "../data/report_parts.ts";
import { NameText } from "../controls/name_text.tsx";
import { bytes, count, duration, NOT_RECORDED, share } from "../format.ts";

const NOT_MEASURED = "not measured";

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

/* The CPU time that a process took while its counters were read, in ms; null: it is not known. */
export function cpuOf(profile: Profile, process: number): number | null {
  const spent = ["runtime.user_ns", "runtime.kernel_ns"].map((name) => {
    const track = profile.tracks.find((each) => each.process === process && each.name === name);
    const values = track?.value ?? [];
    return values.length > 1 ? values[values.length - 1] - values[0] : null;
  });
  const known = spent.filter((ns) => ns !== null);
  return known.length === 0 ? null : known.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/* "≈ 96.4 ms, 1.2 % of the program’s" */
function cpuText(profile: Profile, process: number, ms: number | null): string {
  if (ms === null) return NOT_MEASURED;
  const program = cpuOf(profile, process);
  const words = `≈ ${duration(ms / 1000)}`;
  return program !== null && program > ms ? `${words}, ${share(ms, program)}` : words;
}

function CollectorCost({ cost }: { cost: RecordingCost | null }) {
  if (cost === null) {
    return <p>The CPU time of the process that recorded is not in the file.</p>;
  }
  const { collector_cpu_seconds: whole, collector_peak_rss_bytes: memory } = cost;
  return (
    <p>
      Snapshots and looking at the processes took {duration(cost.recording_cpu_seconds)} of CPU
      time, and the names of functions {duration(cost.names_cpu_seconds)} at the end.
      {whole !== undefined &&
        ` The process that recorded took ${duration(whole)} in all, ` +
          "without processes that it started."}
      {memory !== undefined && ` It had at most ${bytes(memory)} of resident memory.`}
    </p>
  );
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
      <CollectorCost cost={partsOfReport(report).cost ?? null} />
      <div class="health-scroll" tabIndex={0} role="region" aria-label="Cost by process">
        <table class="health-table controls-cards">
          <thead>
            <tr>
              <th>Process</th>
              <th class="number">Samples</th>
              <th class="number">Interval</th>
              <th class="number" title="Of the recorder’s tables in the process">
                Memory
              </th>
              <th
                class="number"
                title="Of recording in the process, and its share of the process’s CPU time"
              >
                CPU time
              </th>
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
                  <td class="number" data-title="Samples">
                    {count(last.sample_count)}
                  </td>
                  <td class="number" data-title="Interval">
                    {intervalText(last.interval_bytes)}
                  </td>
                  <td class="number" data-title="Memory">
                    {bytes(last.recorder_bytes)}
                  </td>
                  <td class="number" data-title="CPU time">
                    {cpuText(profile, i, last.recorder_cpu_ms)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {own.some(({ snapshot }) => profile.snapshots[snapshot].recorder_cpu_ms === null) && (
        <p class="muted">
          What recording took inside of a process is measured with <code>--max-overhead</code> only,
          and where enough samples were timed: one of 16 is.
        </p>
      )}
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
