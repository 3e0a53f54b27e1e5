/*
 * The timeline in words: what happened, and the snapshots as a table, for readers who do not see
 * the chart or want to know the numbers.
 */
import { snapshotTitle } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { bytes, cut, margin, plural } from "../format.ts";
import { linkTo } from "../state.ts";
import { timeOf } from "./curves.ts";
import { MARK_SIGNS, MARK_TITLES, markTime, timeText, type Mark } from "./marks.ts";

/* More marks than this stand behind one line. */
const MARKS_OPEN = 8;
const ROWS_MOST = 500;

export function Happenings({ marks, origin }: { marks: readonly Mark[]; origin: number }) {
  if (marks.length === 0) return null;
  return (
    <details class="timeline-list" open={marks.length <= MARKS_OPEN}>
      <summary>
        <h2>What happened</h2> <span class="muted">{plural(marks.length, "mark")}</span>
      </summary>
      <ul>
        {marks.slice(0, ROWS_MOST).map((mark) => (
          <li key={mark.key}>
            <span class={`timeline-sign timeline-mark-${mark.kind}`} aria-hidden="true">
              {MARK_SIGNS[mark.kind]}
            </span>
            <span class="number">{markTime(mark, origin)}</span>
            <span class="timeline-text">
              <span class="hidden-but-read">{MARK_TITLES[mark.kind]}: </span>
              <bdi>{mark.text}</bdi>
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface TableProps {
  profile: Profile;
  snapshots: readonly number[];
  origin: number;
  first: number | null;
  target: string | null;
  onPair: (snapshot: number) => void;
}

function Row({ profile, index, origin, first, target, onPair }: TableProps & { index: number }) {
  const snapshot = profile.snapshots[index];
  const { live } = snapshot;
  const title = cut(snapshotTitle(profile, index), 100);
  const hasRows = snapshot.rows !== null;
  return (
    <tr>
      <th scope="row">
        {hasRows && target !== null ? (
          <a href={linkTo({ view: target, snapshot: index })}>
            <bdi>{title}</bdi>
          </a>
        ) : (
          <bdi>{title}</bdi>
        )}
      </th>
      <td class="number">{timeText(timeOf(snapshot), origin)}</td>
      <td class="number">
        {bytes(live.bytes)}{" "}
        <span class="muted">{margin(live.bytes, live.bytes_low, live.bytes_high, bytes)}</span>
      </td>
      <td class="number">{bytes(snapshot.rss_bytes)}</td>
      <td class="not-printed">
        {hasRows ? (
          <button type="button" aria-pressed={first === index} onClick={() => onPair(index)}>
            {first === null ? "Compare" : first === index ? "Chosen" : "Compare with this"}
            <span class="hidden-but-read"> {title}</span>
          </button>
        ) : (
          <span class="muted">only totals</span>
        )}
      </td>
    </tr>
  );
}

export function SnapshotTable(props: TableProps) {
  const { snapshots } = props;
  return (
    <details class="timeline-list">
      <summary>
        <h2>Snapshots as a table</h2>{" "}
        <span class="muted">{plural(snapshots.length, "snapshot")}</span>
      </summary>
      <div class="timeline-scroll" tabIndex={0} role="group" aria-label="Snapshots as a table">
        <table class="timeline-table">
          <thead>
            <tr>
              <th scope="col">Snapshot</th>
              <th scope="col">Time</th>
              <th scope="col">Live</th>
              <th scope="col">Resident</th>
              <th scope="col" class="not-printed">
                Difference
              </th>
            </tr>
          </thead>
          <tbody>
            {snapshots.slice(0, ROWS_MOST).map((index) => (
              <Row key={index} {...props} index={index} />
            ))}
          </tbody>
        </table>
        {snapshots.length > ROWS_MOST && (
          <p class="muted">The first {ROWS_MOST} of them. Zoom in to see the others.</p>
        )}
      </div>
    </details>
  );
}
