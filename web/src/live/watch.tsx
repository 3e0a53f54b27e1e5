/*
 * One process, watched while it runs: its figures, how they grow, and what holds the memory.
 */
import { SearchBox } from "../controls/search_box.tsx";
import { Select } from "../controls/select.tsx";
import { bytes, count, cut, duration, plural } from "../format.ts";
import { useParam } from "../state.ts";
import { LineChart } from "./line_chart.tsx";
import { KINDS } from "./top_rows.ts";
import { useWatch } from "./use_watch.ts";
import { WatchActions } from "./watch_actions.tsx";
import type { WatchUpdate } from "./watch_events.ts";
import { WatchLedger } from "./watch_ledger.tsx";
import type { WatchLink } from "./watch_link.ts";
import type { WatchState } from "./watch_state.ts";
import { StatusLine } from "./watch_status.tsx";
import { growthText, WatchTable } from "./watch_table.tsx";

const INTERVAL_MS = 1000;

function Figure({ title, value, more }: { title: string; value: string; more: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <b>{value}</b>
        <span class="muted">{more}</span>
      </dd>
    </div>
  );
}

interface FiguresProps {
  state: WatchState;
  update: WatchUpdate;
  resident: number | null;
}

function residentWords({ rss_bytes, swap_bytes }: WatchUpdate["process"]): string {
  if (rss_bytes === 0) return "at the last look";
  return swap_bytes > 0 ? `${bytes(swap_bytes)} swapped` : "memory of all kinds";
}

function Figures({ state, update, resident }: FiguresProps) {
  const { process } = update;
  const rates = state.rates();
  const rate = (value: number | undefined) => `${growthText(value ?? null)} a second`;
  return (
    <dl class="live-figures">
      <Figure title="Live" value={bytes(process.live_bytes)} more={rate(rates?.live)} />
      <Figure
        title="Live blocks"
        value={count(process.live_count)}
        more={plural(state.stackCount, "stack")}
      />
      <Figure title="Allocated" value={bytes(process.alloc_bytes)} more={rate(rates?.alloc)} />
      <Figure title="Resident" value={bytes(resident)} more={residentWords(process)} />
    </dl>
  );
}

/* What watching costs. */
function look({ interval_ms, look_cpu_ms }: WatchUpdate): string {
  const cost = look_cpu_ms > 0 ? ` takes ${duration(look_cpu_ms / 1000)}` : "";
  return `a look each ${duration(interval_ms / 1000)}${cost}`;
}

function facts(update: WatchUpdate): string {
  const { process } = update;
  const since = process.is_from_startup ? "since its start" : "since the recording began";
  const parts = [
    `${since}, ${duration(update.time_ms / 1000)} ago`,
    process.interval_bytes === 1 ? "every allocation" : `interval ${bytes(process.interval_bytes)}`,
    look(update),
  ];
  return parts.join(" · ");
}

function Legend({ hasResident }: { hasResident: boolean }) {
  return (
    <p class="live-legend">
      <span class="live-line-live" /> live on the heap
      {hasResident && (
        <>
          {" "}
          <span class="live-line-resident" /> resident (RSS)
        </>
      )}
    </p>
  );
}

interface TopProps {
  state: WatchState;
  update: WatchUpdate;
}

function Top({ state, update }: TopProps) {
  const [kindText, setKind] = useParam("live.kind", "functions");
  const [heapText, setHeap] = useParam("live.heap", "");
  const [filter, setFilter] = useParam("live.search", "");
  const kind = KINDS.find((each) => each === kindText) ?? "functions";
  const heap = /^\d+$/.test(heapText) && update.heaps[Number(heapText)] ? Number(heapText) : null;
  const heaps = update.heaps.map(({ name }, i) => ({ value: String(i), text: cut(name, 60) }));
  return (
    <section aria-label="What holds the memory">
      <div class="controls-bar" role="group" aria-label="What is listed">
        {KINDS.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === kind}
            onClick={() => setKind(each)}
          >
            {each[0].toUpperCase() + each.slice(1)}
          </button>
        ))}
        {heaps.length > 1 && (
          <Select
            label="Heap"
            value={heap === null ? "" : String(heap)}
            options={[{ value: "", text: "all that the total contains" }, ...heaps]}
            onChange={setHeap}
          />
        )}
        <SearchBox
          label={kind === "types" ? "Search for a type" : "Search for a function"}
          value={filter}
          onChange={(text) => setFilter(text, "replace")}
        />
      </div>
      <WatchTable state={state} kind={kind} heap={heap} filter={filter} />
    </section>
  );
}

function Picture({ link, update }: { link: WatchLink; update: WatchUpdate }) {
  const { state, series } = link;
  const resident = series.resident();
  const hasResident = resident !== null;
  const label =
    `Live memory over ${duration(update.time_ms / 1000)}: now ` + bytes(update.process.live_bytes);
  return (
    <>
      <Figures state={state} update={update} resident={resident} />
      <LineChart series={series} hasResident={hasResident} version={update.number} label={label} />
      <Legend hasResident={hasResident} />
      {state.ledger && <WatchLedger ledger={state.ledger} />}
      <Top state={state} update={update} />
      <p class="muted">{facts(update)}</p>
    </>
  );
}

export function Watch({ pid, views }: { pid: number; views: readonly string[] }) {
  const link = useWatch(pid, INTERVAL_MS);
  const update = link?.state.update ?? null;
  const name = update?.process.name ?? "";
  return (
    <div class="live-watch">
      <div class="live-watch-head">
        <h2>
          {name && <bdi>{cut(name, 60)}</bdi>} <span class="muted">process {pid}</span>
        </h2>
        {link && <WatchActions link={link} pid={pid} views={views} />}
      </div>
      {link && <StatusLine link={link} pid={pid} views={views} />}
      {link && update && update.process.lost_count > 0 && (
        <p class="live-lost">
          {plural(update.process.lost_count, "sample")} of this process{" "}
          {update.process.lost_count === 1 ? "is" : "are"} lost: the figures are too small.
        </p>
      )}
      {link && update && link.status.kind !== "receiving" && (
        <Picture link={link} update={update} />
      )}
    </div>
  );
}
