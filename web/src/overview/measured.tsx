/*
 * What ran and how it was measured, in the words of the text report.
 */
import type { Report } from "../data/documents.ts";
import { keepUnits } from "../format.ts";

export function Measured({ report }: { report: Report }) {
  if (!report.head || report.head.length === 0) return null;
  return (
    <section class="overview-card overview-measured">
      <h2>How it was measured</h2>
      <ul>
        {report.head.map((line, i) => (
          <li key={i}>{keepUnits(line)}</li>
        ))}
      </ul>
    </section>
  );
}
