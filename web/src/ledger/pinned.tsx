/*
 * Which stacks keep nearly empty pages of malloc resident, and how full the pages are.
 */
import { ReportStack } from "../controls/report_stack.tsx";
import type { Profile } from "../data/profile.ts";
import type { PinnedPages, PinnedStack } from "../data/report_parts.ts";
import { bytes, count, share } from "../format.ts";

/* An estimate is told only if its interval is narrow enough: hs_pin_is_told() of the report. */
function gainText({ gain }: PinnedStack): string {
  if (gain.bytes_high - gain.bytes_low > gain.bytes_high / 2) return "the samples do not tell";
  if (gain.bytes_low === gain.bytes_high) return bytes(gain.bytes);
  return `${bytes(gain.bytes_low)} to ${bytes(gain.bytes_high)}`;
}

const LEVEL_NAMES = ["empty", "to 1/8", "2/8", "3/8", "4/8", "5/8", "6/8", "7/8", "to full"];

function Pages({ counts }: { counts: readonly number[] }) {
  const most = Math.max(...counts, 1);
  const all = counts.reduce((sum, n) => sum + n, 0);
  return (
    <table class="ledger-pages">
      <caption>Resident pages of malloc, by how much of them is in use</caption>
      <tbody>
        {counts.map((pages, i) => (
          <tr key={i}>
            <th scope="row">{LEVEL_NAMES[i] ?? ""}</th>
            <td class="ledger-pages-bar" aria-hidden="true">
              <span style={{ width: `${(100 * pages) / most}%` }} />
            </td>
            <td class="number">{count(pages)}</td>
            <td class="number muted">{share(pages, all)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Props {
  profile: Profile;
  pinned: PinnedPages | null;
}

export function PinnedCard({ profile, pinned }: Props) {
  if (!pinned) {
    return (
      <section class="ledger-card">
        <h2>Nearly empty pages</h2>
        <p>Which blocks keep pages resident was not recorded.</p>
      </section>
    );
  }
  return (
    <section class="ledger-card">
      <h2>Nearly empty pages</h2>
      <p class="ledger-words muted">
        A live block keeps its page resident, however empty the rest of the page is. These stacks
        have blocks on pages of which at most a quarter is in use.
      </p>
      <div class="ledger-pinned">
        <Pages counts={pinned.page_counts} />
        {pinned.stacks.length === 0 ? (
          <p>No stack keeps nearly empty pages.</p>
        ) : (
          <div class="ledger-scroll" tabIndex={0} role="region" aria-label="Stacks">
            <table class="ledger-table">
              <thead>
                <tr>
                  <th>Stack</th>
                  <th class="number">Live blocks</th>
                  <th class="number">On pages of</th>
                  <th class="number" title="What freeing its blocks and malloc_trim(3) give back">
                    Freed alone
                  </th>
                </tr>
              </thead>
              <tbody>
                {pinned.stacks.map((stack, i) => (
                  <tr key={i}>
                    <td class="ledger-stack">
                      {stack.frames ? (
                        <ReportStack profile={profile} frames={stack.frames} />
                      ) : (
                        <span class="muted">a stack of another heap</span>
                      )}
                    </td>
                    <td class="number">{bytes(stack.block_bytes)}</td>
                    <td class="number">{bytes(stack.sparse_page_bytes)}</td>
                    <td class="number">{gainText(stack)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
    </section>
  );
}
