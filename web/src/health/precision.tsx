/*
 * How sure the totals are: their 95 % intervals, and what share of the figure these are.
 */
import type { Amount, Report } from "../data/documents.ts";
import { bytes, count, margin, marginShare, NOT_RECORDED } from "../format.ts";

interface Line {
  title: string;
  value: number;
  low: number | undefined;
  high: number | undefined;
  format: (value: number) => string;
}

function linesOf(title: string, amount: Amount | undefined, objects: string): Line[] {
  if (!amount) return [];
  return [
    {
      title,
      value: amount.bytes,
      low: amount.bytes_low,
      high: amount.bytes_high,
      format: bytes,
    },
    {
      title: `${title}, ${objects}`,
      value: amount.count,
      low: amount.count_low,
      high: amount.count_high,
      format: count,
    },
  ];
}

/* What stands for a margin that is not there: if the interval is unknown, so is the margin. */
function without(report: Report, text: string): string {
  const isUnknown = report.processes.some((process) => process["interval_bytes"] === 0);
  return isUnknown ? NOT_RECORDED : text;
}

function width(report: Report, { value, low, high }: Line): string {
  if (low === undefined || high === undefined) return without(report, "exact");
  return marginShare(Math.max(value - low, high - value), value);
}

function marginOf(report: Report, { value, low, high, format }: Line): string {
  if (low === undefined || high === undefined) return without(report, "none");
  return margin(value, low, high, format) || "none";
}

export function Precision({ report }: { report: Report }) {
  const { live, alloc, peak } = report.totals;
  const lines = [
    ...linesOf("Live", live, "objects"),
    ...linesOf("Allocated", alloc, "allocations"),
    ...linesOf("Peak", peak, "objects"),
  ];
  return (
    <section class="health-card">
      <h2>How sure the totals are</h2>
      <ul class="health-head">
        {(report.head ?? []).map((line, i) => (
          <li key={i}>
            <bdi>{line}</bdi>
          </li>
        ))}
      </ul>
      <div class="health-scroll" tabIndex={0} role="region" aria-label="Totals">
        <table class="health-table controls-cards">
          <thead>
            <tr>
              <th>Figure</th>
              <th class="number">Value</th>
              <th class="number">Margin</th>
              <th class="number">As a share</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line.title}>
                <td>{line.title}</td>
                <td class="number" data-title="Value">
                  {report.is_incomplete && "at least "}
                  {line.format(line.value)}
                </td>
                <td class="number" data-title="Margin">
                  {report.is_incomplete ? "does not hold" : marginOf(report, line)}
                </td>
                <td class="number" data-title="As a share">
                  {report.is_incomplete ? "-" : width(report, line)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
