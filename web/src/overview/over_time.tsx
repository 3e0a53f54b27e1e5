/*
 * How the live and the resident memory went, as one small chart that leads to the timeline.
 */
import { useMemo } from "preact/hooks";

import type { Profile } from "../data/profile.ts";
import type { Steps } from "../data/steps.ts";
import { bytes, duration, plural } from "../format.ts";
import { linkTo } from "../state.ts";
import { highestOf, overTime } from "./drawn_steps.ts";

const COLUMNS = 240;
const HEIGHT = 60;

/* From the left to the right, a horizontal line for each column that has a value. */
function pathOf(values: readonly (number | null)[], most: number): string {
  let path = "";
  values.forEach((value, i) => {
    if (value === null) return;
    const y = (HEIGHT * (1 - value / most)).toFixed(2);
    path += `${path === "" ? "M" : "L"}${i},${y}H${i + 1}`;
  });
  return path;
}

/* The same, closed along the bottom. */
function areaOf(values: readonly (number | null)[], most: number): string {
  const first = values.findIndex((value) => value !== null);
  return first < 0 ? "" : `${pathOf(values, most)}V${HEIGHT}H${first}Z`;
}

const mostOf = (steps: Steps) => steps.values.reduce((most, value) => Math.max(most, value), 0);

interface Props {
  profile: Profile;
  snapshots: readonly number[];
  views: readonly string[];
}

export function MemoryOverTime({ profile, snapshots, views }: Props) {
  const shown = useMemo(() => {
    const processes = new Set(snapshots.map((i) => profile.snapshots[i].process));
    return overTime(profile, [...processes]);
  }, [profile, snapshots.join()]);
  if (!shown) return null;
  const { live, rss, from, to, processCount } = shown;
  const most = Math.max(1, mostOf(live), rss ? mostOf(rss) : 0);
  const columns = (steps: Steps) => highestOf(steps, from, to, COLUMNS);
  const length = duration((to - from) / 1000);
  const who = processCount > 1 ? ` of ${plural(processCount, "process", "processes")}` : "";
  const liveText = `Live memory${who}, highest reading ${bytes(mostOf(live))}`;
  const rssText = rss && `Resident memory, highest reading ${bytes(mostOf(rss))}`;
  return (
    <section class="overview-card">
      <h2>Memory over time</h2>
      <svg
        class="overview-over-time"
        role="img"
        aria-label={`In ${length}: ${liveText}${rssText ? `; ${rssText}` : ""}`}
        viewBox={`0 0 ${COLUMNS} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <path class="overview-live-area" d={areaOf(columns(live), most)} />
        <path class="overview-live-line" d={pathOf(columns(live), most)} />
        {rss && <path class="overview-rss-line" d={pathOf(columns(rss), most)} />}
      </svg>
      <p class="overview-axis muted" aria-hidden="true">
        <span>start</span>
        <span>{length}</span>
      </p>
      <ul class="overview-lines">
        <li>
          <span class="controls-square overview-live-square" />
          {liveText}
        </li>
        {rssText && (
          <li>
            <span class="overview-dash" />
            {rssText}
          </li>
        )}
      </ul>
      {views.includes("timeline") && (
        <p class="overview-words">
          <a href={linkTo({ view: "timeline" })}>The timeline, with snapshots and counters</a>
        </p>
      )}
    </section>
  );
}
