/*
 * Processes that were to be profiled and were not: why, and what to do about it.
 */
import { NameText } from "../controls/name_text.tsx";
import type { ReportParts } from "../data/report_parts.ts";
import { NOT_RECORDED } from "../format.ts";

interface Props {
  refused: NonNullable<ReportParts["not_profiled"]>;
  /* false: the file does not record which processes were refused. */
  isKnown: boolean;
}

export function Refused({ refused, isKnown }: Props) {
  return (
    <section class="health-card">
      <h2>Processes that were not profiled</h2>
      {refused.length === 0 ? (
        <p>{isKnown ? "None." : `Which processes were not profiled was ${NOT_RECORDED}.`}</p>
      ) : (
        <div class="health-scroll" tabIndex={0} role="region" aria-label="Processes">
          <table class="health-table controls-cards">
            <thead>
              <tr>
                <th>Process</th>
                <th>Why, and what helps</th>
              </tr>
            </thead>
            <tbody>
              {refused.map((process, i) => (
                <tr key={i}>
                  <td>
                    <NameText text={process.name || "without a name"} />
                    <small class="muted">pid {process.pid}</small>
                  </td>
                  <td data-title="Why, and what helps">
                    <bdi>{process.text}</bdi>
                    {process.remedy && <small class="muted">{process.remedy}</small>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
