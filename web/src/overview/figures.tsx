/*
 * The main figures, each with its margin: memory at the peak, live memory, what was allocated, and
 * the resident memory.
 */
import type { Amount, Report } from "../data/documents.ts";
import type { Quantity } from "../data/documents.ts";
import type { Profile } from "../data/profile.ts";
import type { Selection } from "../data/selection.ts";
import { bytes, count, NOT_RECORDED } from "../format.ts";

/* " ± 1.20 MiB": the larger side of the interval; "" where the figure is exact. */
export function margin(
  value: number,
  low: number | undefined,
  high: number | undefined,
  format: (value: number) => string,
): string {
  if (low === undefined || high === undefined) return "";
  const most = Math.max(high - value, value - low);
  return most > 0 ? ` ± ${format(most)}` : "";
}

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
            <small>{margin(amount.bytes, amount.bytes_low, amount.bytes_high, bytes)}</small>
          )}
        </span>
        {amount && (
          <span class="muted">
            {least}
            {count(amount.count)} {title === "Allocated" ? "allocations" : "objects"}
            {!isLeast && margin(amount.count, amount.count_low, amount.count_high, count)}
          </span>
        )}
      </dd>
    </div>
  );
}

/* The resident memory of all selected snapshots; null unless each of them has it. */
function residentBytes(profile: Profile, snapshots: readonly number[]): number | null {
  const sizes = snapshots.map((i) => profile.snapshots[i].rss_bytes);
  if (sizes.length === 0 || sizes.includes(null)) return null;
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
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
  const rss = residentBytes(profile, selection.snapshots);
  const liveTitle = isAtEnd ? "Live at the end" : "Live";
  return (
    <dl class="overview-figures">
      <Figure title="Peak" amount={totals.peak} isShown={isShown("peak")} isLeast={isLeast} />
      <Figure title={liveTitle} amount={totals.live} isShown={isShown("live")} isLeast={isLeast} />
      <Figure
        title="Allocated"
        amount={totals.alloc}
        isShown={isShown("alloc")}
        isLeast={isLeast}
      />
      <div class="overview-figure">
        <dt>Resident memory</dt>
        <dd>
          <span class="overview-value">{bytes(rss)}</span>
          {rss !== null && snapshots.length > 1 && (
            <span class="muted">sum of {snapshots.length} processes</span>
          )}
        </dd>
      </div>
    </dl>
  );
}
