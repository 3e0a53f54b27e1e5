/*
 * Stacks of one verdict: growth with its margin, how sure it is, what lives, and how old it is.
 */
import { useState } from "preact/hooks";

import { ReportStack } from "../controls/report_stack.tsx";
import type { Profile } from "../data/profile.ts";
import type { LeakStack, LeakVerdict } from "../data/report_parts.ts";
import {
  bytes,
  confidence,
  count,
  duration,
  margin,
  plural,
  rateUnit,
  type RateUnit,
} from "../format.ts";

const SHOWN_FIRST = 20;

/* The blocks that live, by the eighth of the recording in which they were allocated. */
function Ages({ eighths, spanSeconds }: { eighths: readonly number[]; spanSeconds: number }) {
  const most = Math.max(...eighths, 1);
  const step = spanSeconds / Math.max(eighths.length, 1);
  const when = (i: number) => `from ${duration(i * step)} to ${duration((i + 1) * step)}`;
  const words = eighths.map((size, i) => `${bytes(size)} ${when(i)}`).join("; ");
  return (
    <span class="leaks-ages" role="img" aria-label={`Live, by when it was allocated: ${words}`}>
      {eighths.map((size, i) => (
        <span key={i} title={`${bytes(size)} allocated ${when(i)}`}>
          <span style={{ height: `${size > 0 ? Math.max(6, (100 * size) / most) : 0}%` }} />
        </span>
      ))}
    </span>
  );
}

interface Columns {
  hasGrowth: boolean;
  hasConfidence: boolean;
}

/*
 * What the verdict leaves to say: a stack that stopped growing has no growth that goes on, and that
 * it leaks is not in question, as little as of one whose old blocks are freed.
 */
function columnsOf(verdict: LeakVerdict): Columns {
  return {
    hasGrowth: verdict !== "stopped",
    hasConfidence: verdict === "leaks" || verdict === "unsure",
  };
}

interface RowProps {
  profile: Profile;
  columns: Columns;
  stack: LeakStack;
  spanSeconds: number;
  unit: RateUnit;
}

function LeakRow({ profile, columns, stack, spanSeconds, unit }: RowProps) {
  const inUnit = (bytesPerHour: number) => (bytesPerHour * unit.seconds) / 3600;
  const growth = inUnit(stack.growth_bytes_per_hour);
  const around = margin(
    growth,
    inUnit(stack.growth_low_bytes_per_hour),
    inUnit(stack.growth_high_bytes_per_hour),
    bytes,
  );
  return (
    <tr>
      <td class="leaks-stack">
        <ReportStack profile={profile} frames={stack.frames} />
      </td>
      {columns.hasGrowth && (
        <td class="number" data-title="Growth">
          {bytes(growth)}
          {unit.sign}
          <small>{around && `${around}${unit.sign}`}</small>
        </td>
      )}
      {columns.hasConfidence && (
        <td class="number" data-title="Sure">
          {confidence(stack.confidence)}
        </td>
      )}
      <td class="number" data-title="Live">
        {bytes(stack.live.bytes)}
        <small>{plural(stack.live.count, "object")}</small>
      </td>
      <td class="number" data-title="Oldest">
        {stack.oldest_seconds > 0 ? duration(stack.oldest_seconds) : "-"}
      </td>
      <td data-title="Allocated when">
        <Ages eighths={stack.live_bytes_by_eighth} spanSeconds={spanSeconds} />
      </td>
    </tr>
  );
}

interface Props {
  profile: Profile;
  stacks: readonly LeakStack[];
  verdict: LeakVerdict;
  spanSeconds: number;
}

export function LeakList({ profile, stacks, verdict, spanSeconds }: Props) {
  const columns = columnsOf(verdict);
  const unit = rateUnit(spanSeconds);
  const [isAll, setAll] = useState(false);
  const shown = isAll ? stacks : stacks.slice(0, SHOWN_FIRST);
  return (
    <>
      <div class="leaks-scroll" tabIndex={0} role="region" aria-label="Stacks">
        <table class="leaks-table controls-cards">
          <thead>
            <tr>
              <th>Stack</th>
              {columns.hasGrowth && <th class="number">Growth</th>}
              {columns.hasConfidence && <th class="number">Sure</th>}
              <th class="number">Live</th>
              <th class="number">Oldest</th>
              <th>Allocated when</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((stack, i) => (
              <LeakRow
                key={i}
                profile={profile}
                columns={columns}
                stack={stack}
                spanSeconds={spanSeconds}
                unit={unit}
              />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < stacks.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {count(stacks.length)}
        </button>
      )}
    </>
  );
}
