/*
 * The processes of the file as a tree, in which one is chosen.
 */
import { useMemo } from "preact/hooks";

import { processName } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { bytes, cut, duration, NOT_RECORDED, plural } from "../format.ts";
import { linkTo } from "../state.ts";
import { mostLive, treeOf, type TreeRow } from "./process_tree.ts";

const ROWS_MOST = 1000;

interface Props {
  profile: Profile;
  file: number;
  /* null: all */
  process: number | null;
}

function lifetime(profile: Profile, index: number): string {
  const { start_ms: start, end_ms: end } = profile.processes[index];
  if (start === null) return NOT_RECORDED;
  const from = duration(start / 1000);
  return end === null ? `from ${from}` : `${from} to ${duration(end / 1000)}`;
}

function Row({ profile, row, process }: Props & { row: TreeRow }) {
  const each = profile.processes[row.process];
  const isChosen = process === row.process;
  const indent = { paddingLeft: `${Math.min(row.depth, 12) * 18 + 4}px` };
  return (
    <tr class={isChosen ? "timeline-chosen" : ""}>
      <th scope="row" style={indent}>
        {each.refusal === null ? (
          <a
            href={linkTo({ process: isChosen ? null : row.process, snapshot: null })}
            aria-current={isChosen ? "true" : undefined}
          >
            <bdi>{cut(processName(profile, row.process), 60)}</bdi>
          </a>
        ) : (
          <bdi>{cut(processName(profile, row.process), 60)}</bdi>
        )}
      </th>
      <td class="number">{each.pid}</td>
      <td class="number">{each.refusal === null ? bytes(mostLive(profile, row.process)) : "-"}</td>
      <td class="number">{lifetime(profile, row.process)}</td>
      <td>
        {each.refusal === null ? (
          <bdi class="muted">{cut(each.end, 120)}</bdi>
        ) : (
          <bdi>
            not profiled: {cut(each.refusal, 300)} {cut(each.remedy ?? "", 300)}
          </bdi>
        )}
      </td>
    </tr>
  );
}

export function ProcessList(props: Props) {
  const { profile, file, process } = props;
  const rows = useMemo(() => treeOf(profile, file), [profile, file]);
  if (rows.length < 2) return null;
  return (
    <details class="timeline-list" open={rows.length <= 20}>
      <summary>
        <h2>Processes</h2> <span class="muted">{plural(rows.length, "process", "processes")}</span>
      </summary>
      {process !== null && (
        <p class="not-printed">
          <a href={linkTo({ process: null, snapshot: null })}>Show all processes</a>
        </p>
      )}
      <div class="timeline-scroll" tabIndex={0} role="group" aria-label="Processes">
        <table class="timeline-table">
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col">Pid</th>
              <th scope="col">Most live memory</th>
              <th scope="col">Lifetime</th>
              <th scope="col">End</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, ROWS_MOST).map((row) => (
              <Row key={row.process} {...props} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
