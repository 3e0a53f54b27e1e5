/*
 * What the resident memory consists of, as one bar.
 */
import { StackedBar, type Slice } from "../controls/stacked_bar.tsx";
import type { Report } from "../data/documents.ts";
import { ledgerParts } from "../data/ledger_parts.ts";
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
  const parts = ledgerParts(ledger).filter((part) => part.rssBytes > 0);
  const slices: Slice[] = parts.slice(0, SHOWN).map((part, i) => ({
    key: part.name,
    name: part.name,
    value: part.rssBytes,
    colour: `--series-${i + 1}`,
  }));
  const rest = parts.slice(SHOWN).reduce((sum, part) => sum + part.rssBytes, 0);
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
