/*
 * What the resident memory consists of, as one bar.
 */
import { StackedBar, type Slice } from "../controls/stacked_bar.tsx";
import type { Report } from "../data/documents.ts";
import { highestLedger, isShared, ledgerBytes, ledgerParts } from "../data/ledger_parts.ts";
import { bytes, keepUnits } from "../format.ts";
import { linkTo } from "../state.ts";

const SHOWN = 7;

export function Resident({ report, views }: { report: Report; views: readonly string[] }) {
  /* The paragraph of the report is about the moment at which the most was resident. */
  const highest = highestLedger(report);
  const ledger = highest ?? report.ledger;
  if (!ledger) {
    return (
      <section class="overview-card">
        <h2>Resident memory</h2>
        <p>What it consisted of was not recorded.</p>
      </section>
    );
  }
  const whole = ledgerBytes(ledger);
  const parts = ledgerParts(ledger).filter((part) => part.bytes > 0);
  const slices: Slice[] = parts.slice(0, SHOWN).map((part, i) => ({
    key: part.name,
    name: part.name,
    value: part.bytes,
    colour: `--series-${i + 1}`,
  }));
  const rest = parts.slice(SHOWN).reduce((sum, part) => sum + part.bytes, 0);
  if (rest > 0) {
    slices.push({ key: "rest", name: "smaller parts", value: rest, colour: "--series-8" });
  }
  return (
    <section class="overview-card">
      <h2>
        Resident memory, {bytes(whole)}
        {highest && <small class="muted"> when most was resident</small>}
        {isShared(ledger) && <small class="muted"> shared memory divided (PSS)</small>}
      </h2>
      {report.resident_answer && <p class="overview-words">{keepUnits(report.resident_answer)}</p>}
      <StackedBar slices={slices} whole={whole} format={bytes} />
      {views.includes("ledger") && (
        <p class="overview-words">
          <a href={linkTo({ view: "ledger", "ledger.at": highest ? "highest" : null })}>
            All of its parts
          </a>
        </p>
      )}
    </section>
  );
}
