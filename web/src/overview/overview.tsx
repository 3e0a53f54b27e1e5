/*
 * The first view: where did the memory go, in one paragraph, four figures and one picture. It shows
 * what the text report is about, whatever other views have selected.
 */
import { useMemo } from "preact/hooks";

import type { Report } from "../data/documents.ts";
import { measureOf, type Measure } from "../data/measures.ts";
import type { Profile } from "../data/profile.ts";
import type { Selection } from "../data/selection.ts";
import { keepUnits } from "../format.ts";
import { Failure } from "../shell/failure.tsx";
import { usePromise } from "../shell/use_promise.ts";
import { useRows } from "../shell/use_selection.ts";
import type { ViewProps } from "../views.ts";
import { Breakdown } from "./breakdown_card.tsx";
import { Figures } from "./figures.tsx";
import { Measured } from "./measured.tsx";
import { MemoryOverTime } from "./over_time.tsx";
import "./overview.css";
import { Resident } from "./resident.tsx";

const NO_ANSWER =
  "The command that made this page filtered the stacks: there is no answer for all memory.";

/* What the report of this file is about. */
function reportSelection(profile: Profile, file: number): Selection {
  const { view, selected } = profile.files[file];
  return {
    snapshots: selected,
    measure: measureOf(view),
    heap: null,
    parts: { thread: null, type: null, scope: null, age: null },
  };
}

function wholeOf(report: Report, measure: Measure): number {
  const total = report.totals[measure.quantity];
  return (measure.isCount ? total?.count : total?.bytes) ?? 0;
}

function FileOverview({ profile, file, views }: ViewProps & { file: number }) {
  const selection = useMemo(() => reportSelection(profile, file), [profile, file]);
  const report = usePromise(() => profile.report(file), [profile, file]);
  const rows = useRows(profile, selection.snapshots);
  if (report.error !== null) return <Failure what="The report is missing" error={report.error} />;
  if (!report.value) return <p class="loading">Reading the report…</p>;
  return (
    <div class="overview-grid">
      <section class="overview-answer overview-card">
        <h2>Where did the memory go?</h2>
        <p>{keepUnits(report.value.answer ?? NO_ANSWER)}</p>
        <Figures profile={profile} report={report.value} selection={selection} />
      </section>
      <div class="overview-column">
        {rows.error !== null && <Failure what="The stacks cannot be read" error={rows.error} />}
        {rows.value && (
          <Breakdown
            profile={profile}
            rows={rows.value}
            selection={selection}
            views={views}
            whole={wholeOf(report.value, selection.measure)}
          />
        )}
        <MemoryOverTime profile={profile} snapshots={selection.snapshots} views={views} />
      </div>
      <div class="overview-column">
        <Resident report={report.value} views={views} />
        <Measured report={report.value} />
      </div>
    </div>
  );
}

export function Overview(props: ViewProps) {
  const { files } = props.profile;
  return (
    <>
      {files.map((file, i) => (
        <div key={i}>
          {files.length > 1 && (
            <h2 class="overview-file name">
              <bdi>{file.name}</bdi>
            </h2>
          )}
          <FileOverview {...props} file={i} />
        </div>
      ))}
    </>
  );
}
