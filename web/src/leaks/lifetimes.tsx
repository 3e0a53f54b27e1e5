/*
 * How long blocks lived that were freed, of a recording with --lifetimes.
 */
import { useState } from "preact/hooks";

import { ReportStack } from "../controls/report_stack.tsx";
import type { Profile } from "../data/profile.ts";
import type { Lifetimes, LifetimeSums, Share } from "../data/report_parts.ts";
import { bytes, count, duration, plural } from "../format.ts";

const SHOWN_FIRST = 10;
const TIMES = [
  ["1s", "1 s"],
  ["1min", "1 min"],
  ["1h", "1 h"],
] as const;

/* A mean of lifetimes; the clock moves every 1 to 10 ms, so that less cannot be told. */
export function lifetimeText(ms: number | undefined): string {
  if (ms === undefined) return "not known";
  return ms < 10 ? "under 10.0 ms" : duration(ms / 1000);
}

function survivalText(share: Share | undefined): string {
  return share ? `${(100 * share.share).toFixed(1)} %` : "-";
}

function survivalTitle(share: Share | undefined): string {
  if (!share) return "No block was watched for so long";
  return `95 % interval: ${(100 * share.low).toFixed(1)} % to ${(100 * share.high).toFixed(1)} %`;
}

function Cells({ sums }: { sums: LifetimeSums }) {
  const { mean_lifetime_low_ms: low, mean_lifetime_high_ms: high } = sums;
  const hasInterval = low !== undefined && high !== undefined;
  return (
    <>
      <td class="number" data-title="Allocated">
        {bytes(sums.alloc.bytes)}
      </td>
      <td class="number" data-title="Blocks freed">
        {count(sums.freed.count)}
      </td>
      <td
        class="number"
        data-title="Mean lifetime"
        title={hasInterval ? `95 % interval: ${lifetimeText(low)} to ${lifetimeText(high)}` : ""}
      >
        {lifetimeText(sums.mean_lifetime_ms)}
      </td>
      <td class="number" data-title="Temporary">
        {count(sums.temporary.count)}
      </td>
      {TIMES.map(([key, text]) => (
        <td
          key={key}
          class="number"
          data-title={`Lived ${text}`}
          title={survivalTitle(sums.survival[key])}
        >
          {survivalText(sums.survival[key])}
        </td>
      ))}
    </>
  );
}

interface Props {
  profile: Profile;
  lifetimes: Lifetimes | null;
}

export function LifetimeCard({ profile, lifetimes }: Props) {
  const [isAll, setAll] = useState(false);
  if (!lifetimes) {
    return (
      <section class="leaks-card">
        <h2>Lifetimes</h2>
        <p>
          How long freed blocks lived was not recorded. The option <code>--lifetimes</code> of
          heapscope run records it.
        </p>
      </section>
    );
  }
  const shown = isAll ? lifetimes.stacks : lifetimes.stacks.slice(0, SHOWN_FIRST);
  return (
    <section class="leaks-card">
      <h2>Lifetimes of freed blocks</h2>
      <p class="muted">
        {plural(lifetimes.freed.count, "block")} were freed. Temporary is what its thread freed
        before it allocated anything else.
      </p>
      <div class="leaks-scroll" tabIndex={0} role="region" aria-label="Lifetimes by stack">
        <table class="leaks-table controls-cards">
          <thead>
            <tr>
              <th>Stack</th>
              <th class="number">Allocated</th>
              <th class="number">Blocks freed</th>
              <th class="number">Mean lifetime</th>
              <th class="number">Temporary</th>
              {TIMES.map(([key, text]) => (
                <th key={key} class="number">
                  Lived {text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr class="leaks-all">
              <td>All stacks</td>
              <Cells sums={lifetimes} />
            </tr>
            {shown.map((stack, i) => (
              <tr key={i}>
                <td class="leaks-stack">
                  <ReportStack profile={profile} frames={stack.frames} />
                </td>
                <Cells sums={stack} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < lifetimes.stacks.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {count(lifetimes.stacks.length)}
        </button>
      )}
    </section>
  );
}
