/*
 * The main figures, each with its margin: memory at the peak, live memory, what was allocated, and
 * the resident memory.
 */
import type { Amount, Ledger, Quantity, Report } from "../data/documents.ts";
import { ledgerBytes } from "../data/ledger_parts.ts";
import type { Profile } from "../data/profile.ts";
import type { Selection } from "../data/selection.ts";
import { bytes, count, margin, NOT_RECORDED } from "../format.ts";

interface FigureProps {
  title: string;
  amount: Amount | undefined;
  isShown: boolean;
  /* More than what was found may have been there. */
  isLeast: boolean;
}

function Figure({ title, amount, isShown, isLeast }: FigureProps) {
  const least = isLeast && amount ? "at least " : "";
  return (
    <div class={`overview-figure${isShown ? " overview-shown" : ""}`}>
      <dt>{title}</dt>
      <dd>
        <span class="overview-value">
          {least}
          {amount ? bytes(amount.bytes) : NOT_RECORDED}
          {amount && !isLeast && (
            <small> {margin(amount.bytes, amount.bytes_low, amount.bytes_high, bytes)}</small>
          )}
        </span>
        {amount && (
          <span class="muted">
            {least}
            {count(amount.count)} {title === "Allocated" ? "allocations" : "objects"}
            {!isLeast && " " + margin(amount.count, amount.count_low, amount.count_high, count)}
          </span>
        )}
      </dd>
    </div>
  );
}

interface ResidentProps {
  profile: Profile;
  snapshots: readonly number[];
  ledger: Ledger | undefined;
}

/*
 * The highest resident memory of a process; of several, what they had at their snapshots, or when
 * it was last read.
 */
function Resident({ profile, snapshots, ledger }: ResidentProps) {
  const chosen = snapshots.map((i) => profile.snapshots[i]);
  const now = chosen.map((snapshot) => snapshot.rss_bytes);
  const isKnown = now.length > 0 && !now.includes(null);
  const sum = isKnown ? now.reduce<number>((total, size) => total + (size ?? 0), 0) : null;
  const highest = chosen.length === 1 ? chosen[0].rss_peak_bytes : null;
  const isRead = highest === null && sum === null && ledger !== undefined;
  return (
    <div class="overview-figure">
      <dt>{highest === null ? "Resident memory" : "Highest resident memory"}</dt>
      <dd>
        <span class="overview-value">{bytes(isRead ? ledgerBytes(ledger) : (highest ?? sum))}</span>
        {highest !== null && sum !== null && (
          <span class="muted">{bytes(sum)} at the snapshot</span>
        )}
        {isRead && <span class="muted">when it was last read</span>}
        {highest === null && sum !== null && chosen.length > 1 && (
          <span class="muted">sum of {chosen.length} processes</span>
        )}
      </dd>
    </div>
  );
}

interface Props {
  profile: Profile;
  report: Report;
  selection: Selection;
}

export function Figures({ profile, report, selection }: Props) {
  const { totals, is_incomplete: isLeast } = report;
  const snapshots = selection.snapshots.map((i) => profile.snapshots[i]);
  const isAtEnd = snapshots.length > 0 && snapshots.every((snapshot) => snapshot.is_final);
  const isShown = (quantity: Quantity) => selection.measure.quantity === quantity;
  const liveTitle = isAtEnd ? "Live at the end" : "Live";
  const peak = report.is_peak_of_all_heaps ? "At the peak of all heaps" : "Peak";
  const peaks = report.is_peak_of_all_heaps ? "At peaks of all heaps" : "Peaks";
  return (
    <dl class="overview-figures">
      <Figure
        title={snapshots.length > 1 ? `${peaks}, added up` : peak}
        amount={totals.peak}
        isShown={isShown("peak")}
        isLeast={isLeast}
      />
      <Figure title={liveTitle} amount={totals.live} isShown={isShown("live")} isLeast={isLeast} />
      <Figure
        title="Allocated"
        amount={totals.alloc}
        isShown={isShown("alloc")}
        isLeast={isLeast}
      />
      <Resident profile={profile} snapshots={selection.snapshots} ledger={report.ledger} />
    </dl>
  );
}
