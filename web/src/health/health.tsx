/*
 * The view "Health": how far the figures can be trusted. What was lost or cut, which modules have
 * no names and what helps, how precise the figures are, what recording cost, and which processes
 * were not profiled.
 */
import type { Report } from "../data/documents.ts";
import type { Profile } from "../data/profile.ts";
import { partsOfReport } from "../data/report_parts.ts";
import { plural } from "../format.ts";
import { Failure } from "../shell/failure.tsx";
import { usePromise } from "../shell/use_promise.ts";
import type { ViewProps } from "../views.ts";
import { Cost } from "./cost.tsx";
import "./health.css";
import { Losses } from "./losses.tsx";
import { CutModules, NamelessModules } from "./modules.tsx";
import { Precision } from "./precision.tsx";
import { Refused } from "./refused.tsx";
import { touchedWords } from "./touched.ts";

const ESTIMATES = "The figures are estimates, whose margins stand beside them.";
const NO_MARGINS = "The figures have no margins.";

function lossWords(report: Report): string {
  const { losses, is_loss_known: isKnown } = partsOfReport(report);
  if (isKnown === false || !losses) return "What was lost was not recorded.";
  return losses.length === 0 ? "Nothing was lost." : "No loss makes the figures too low.";
}

/* One sentence: may the reader trust the figures? */
function verdict(report: Report): string {
  const serious = (report.warnings ?? []).filter((warning) => warning.is_serious).length;
  if (report.is_incomplete) {
    return "Allocations are missing from this profile: its figures are lower bounds.";
  }
  if (serious > 0) return `${plural(serious, "warning")} touch the figures of this profile.`;
  if (report.is_exact) return "Every allocation was recorded: the figures are exact.";
  const hasMargins = report.totals.live?.bytes_low !== undefined;
  return `${lossWords(report)} ${hasMargins ? ESTIMATES : NO_MARGINS}`;
}

function Warnings({ report }: { report: Report }) {
  const warnings = report.warnings ?? [];
  if (warnings.length === 0) return <p>There are no warnings.</p>;
  return (
    <ul class="health-warnings">
      {warnings.map((warning, i) => (
        <li key={i} class={warning.is_serious ? "health-serious" : ""}>
          {warning.is_serious && <b>Serious: </b>}
          <bdi>{warning.text}</bdi>
          <small class="muted">{touchedWords(warning.views)}</small>
        </li>
      ))}
    </ul>
  );
}

function HealthOfFile({ profile, file }: { profile: Profile; file: number }) {
  const report = usePromise(() => profile.report(file), [profile, file]);
  if (report.error !== null) return <Failure what="The report is missing" error={report.error} />;
  if (!report.value) return <p class="loading">Reading the report…</p>;
  const parts = partsOfReport(report.value);
  return (
    <div class="health-view">
      <section class="health-card health-answer">
        <h2>How far can the figures be trusted?</h2>
        <p class="health-words">{verdict(report.value)}</p>
        <Warnings report={report.value} />
      </section>
      <div class="health-column">
        <Losses losses={parts.losses ?? null} isKnown={parts.is_loss_known !== false} />
        <Cost profile={profile} file={file} report={report.value} />
        <Refused refused={parts.not_profiled ?? []} isKnown={parts.is_loss_known !== false} />
      </div>
      <div class="health-column">
        <Precision report={report.value} />
      </div>
      <NamelessModules names={parts.missing_names ?? null} />
      <CutModules modules={parts.cut_modules ?? []} isKnown={parts.is_loss_known !== false} />
    </div>
  );
}

export function Health({ profile }: ViewProps) {
  return (
    <>
      {profile.files.map((file, i) => (
        <div key={i}>
          {profile.files.length > 1 && (
            <h2 class="name health-file">
              <bdi>{file.name}</bdi>
            </h2>
          )}
          <HealthOfFile profile={profile} file={i} />
        </div>
      ))}
    </>
  );
}
