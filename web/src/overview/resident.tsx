/*
 * What the resident memory consists of, as one bar.
 */
import { StackedBar, type Slice } from "../controls/stacked_bar.tsx";
import { ledgerLineName } from "../data/ledger_names.ts";
import type { Report } from "../data/documents.ts";
import { bytes } from "../format.ts";
import { linkTo } from "../state.ts";

const SHOWN = 7;

export function Resident({ report, views }: { report: Report; views: readonly string[] }) {
  const { ledger } = report;
  if (!ledger) {
    return (
      <section class="overview-card">
        <h2>Resident memory</h2>
        <p>What it consisted of was not recorded.</p>
      </section>
    );
  }
  const lines = ledger.lines
    .filter((line) => line.rss_bytes > 0)
    .sort((a, b) => b.rss_bytes - a.rss_bytes);
  const slices: Slice[] = lines.slice(0, SHOWN).map((line, i) => ({
    key: String(i),
    name: ledgerLineName(line),
    value: line.rss_bytes,
    colour: line.is_explained ? `--series-${i + 1}` : "--noise",
  }));
  const rest = lines.slice(SHOWN).reduce((sum, line) => sum + line.rss_bytes, 0);
  if (rest > 0) {
    slices.push({ key: "rest", name: "smaller parts", value: rest, colour: "--series-8" });
  }
  return (
    <section class="overview-card">
      <h2>Resident memory, {bytes(ledger.rss_bytes)}</h2>
      {report.resident_answer && <p class="overview-words">{report.resident_answer}</p>}
      <StackedBar slices={slices} whole={ledger.rss_bytes} format={bytes} />
      {views.includes("ledger") && (
        <p class="overview-words">
          <a href={linkTo({ view: "ledger" })}>All of its parts</a>
        </p>
      )}
    </section>
  );
}
