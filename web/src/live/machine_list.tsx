/*
 * The processes of the machine: memory, whether each can be recorded, and if not, why.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { SearchBox } from "../controls/search_box.tsx";
import { getJson, sentence } from "../data/server.ts";
import { bytes, cut, plural } from "../format.ts";
import { Trouble } from "../shell/trouble.tsx";
import { navigate, useParam } from "../state.ts";
import {
  liveTotalsOf,
  recordingOf,
  type MachineProcess,
  type MachineProcesses,
  type Sessions,
} from "./answers.ts";
import { moveInColumn, SortHead } from "./grid_keys.tsx";
import {
  memoryOf,
  reasonOf,
  shownProcesses,
  SORT_KEYS,
  type LiveTotals,
  type SortKey,
} from "./machine_rows.ts";
import { usePoll } from "./use_poll.ts";

const PAUSE_MS = 3000;

interface RowProps {
  process: MachineProcess;
  session: string | null;
  live: number | undefined;
  largest: number;
}

/* Below the name: what records it, or why nothing can. */
function Verdict({ process, session }: { process: MachineProcess; session: string | null }) {
  if (session !== null) {
    return (
      <p class="live-verdict live-recorded">
        <span aria-hidden="true">● </span>recorded by <bdi>{cut(session, 40)}</bdi>
      </p>
    );
  }
  if (process.eligible !== false) return null;
  if (process.is_recorded) {
    return (
      <p class="live-verdict">
        <bdi>{reasonOf(process)}</bdi>
      </p>
    );
  }
  return (
    <p class="live-verdict muted">
      Cannot be recorded. <bdi>{reasonOf(process)}</bdi> <bdi>{sentence(process.remedy ?? "")}</bdi>
    </p>
  );
}

function Act({ process, session }: { process: MachineProcess; session: string | null }) {
  const label = `${process.name}, process ${process.pid}`;
  if (session !== null || process.is_recorded) {
    return (
      <button
        type="button"
        aria-label={`Watch ${label}`}
        onClick={() => navigate({ "live.pid": process.pid })}
      >
        Watch
      </button>
    );
  }
  return (
    <button
      type="button"
      disabled={process.eligible === false}
      aria-label={`Record ${label}`}
      onClick={() => navigate({ "live.record": process.pid })}
    >
      Record…
    </button>
  );
}

function ProcessRow({ process, session, live, largest }: RowProps) {
  const part = largest > 0 ? (100 * memoryOf(process)) / largest : 0;
  const title = cut(process.command ?? process.name, 1000);
  return (
    <tr>
      <td>
        <Act process={process} session={session} />
      </td>
      <td class="number live-pid">{process.pid}</td>
      <th scope="row" title={title}>
        <bdi class="live-name">{cut(process.name, 60)}</bdi>{" "}
        <span class="muted live-small-pid">{process.pid}</span>
        {process.command && (
          <bdi class="name muted cut live-command">{cut(process.command, 300)}</bdi>
        )}
        <Verdict process={process} session={session} />
      </th>
      <td class="number live-size">
        {bytes(process.rss_bytes)}
        {process.swap_bytes > 0 && (
          <small class="muted"> + {bytes(process.swap_bytes)} swapped</small>
        )}
        <span class="live-track" aria-hidden="true">
          <span style={{ width: `${Math.max(1, part)}%` }} />
        </span>
      </td>
      <td class="number">{live === undefined ? <span class="muted">-</span> : bytes(live)}</td>
    </tr>
  );
}

interface TableProps {
  shown: readonly MachineProcess[];
  sessions: Sessions | null;
  totals: LiveTotals;
}

/* Names and pids begin with the smallest, sizes with the largest. */
const isRisingAtFirst = (key: SortKey) => key === "name" || key === "pid";

function Table({ shown, sessions, totals }: TableProps) {
  const [sort, setSort] = useParam("live.sort", "memory");
  const [order, setOrder] = useParam("live.order", "");
  const largest = Math.max(0, ...shown.map(memoryOf));
  const choose = (key: SortKey) => {
    const isSame = key === sort;
    const next = isSame ? (order ? "" : "reverse") : "";
    if (!isSame) setSort(key);
    setOrder(next);
  };
  const head = (key: SortKey, title: ComponentChildren) => {
    const isRising = isRisingAtFirst(key) !== (order !== "");
    return (
      <SortHead
        title={title}
        isNumber={key !== "name"}
        more={key === "pid" ? "live-pid" : ""}
        order={key === sort ? (isRising ? "ascending" : "descending") : null}
        onSort={() => choose(key)}
      />
    );
  };
  return (
    <div class="live-scroll" tabIndex={0} role="region" aria-label="Processes of this computer">
      <table class="live-table" onKeyDown={moveInColumn}>
        <caption class="hidden-but-read">
          Processes of this computer. Arrow keys move between the buttons of the rows.
        </caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden-but-read">Action</span>
            </th>
            {head("pid", "Pid")}
            {head("name", "Process")}
            {head("memory", "Resident")}
            {head(
              "live",
              <>
                Live<span class="live-wide"> on the heap</span>
              </>,
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((process) => (
            <ProcessRow
              key={process.pid}
              process={process}
              session={
                sessions ? (recordingOf(sessions, process.pid)?.session.session ?? null) : null
              }
              live={totals.get(process.pid)}
              largest={largest}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/* "/" goes to the filter, as in other views. */
function useFilterKey() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const isTyped =
        event.target instanceof HTMLElement &&
        /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key !== "/" || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.querySelector("input")?.focus();
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
  return box;
}

export function ProcessList({ sessions }: { sessions: Sessions | null }) {
  const { value, error } = usePoll(() => getJson<MachineProcesses>("api/processes"), PAUSE_MS);
  const [filter, setFilter] = useParam("live.filter", "");
  const [able, setAble] = useParam("live.able", "");
  const [sort] = useParam("live.sort", "memory");
  const [order] = useParam("live.order", "");
  const box = useFilterKey();
  const totals = liveTotalsOf(sessions);
  const key = SORT_KEYS.find((each) => each === sort) ?? "memory";
  const isRising = isRisingAtFirst(key) !== (order !== "");
  const all = value?.processes ?? [];
  const choice = { filter, sort: key, isRising, isAble: able !== "" };
  const shown = shownProcesses(all, choice, totals);
  return (
    <section aria-labelledby="live-processes">
      <h2 id="live-processes">Processes</h2>
      <div class="controls-bar" ref={box}>
        <SearchBox
          label="Filter by name, command or pid"
          value={filter}
          onChange={(text) => setFilter(text, "replace")}
          found={value ? plural(shown.length, "process", "processes") : ""}
        />
        <label>
          <input
            type="checkbox"
            checked={able !== ""}
            onChange={(event) => setAble(event.currentTarget.checked ? "1" : "")}
          />{" "}
          only those that can be recorded
        </label>
        <button type="button" onClick={() => navigate({ "live.record": "name" })}>
          Record by name…
        </button>
      </div>
      {error !== null && <Trouble error={error} />}
      {!value && error === null && <p class="loading">Looking at the processes…</p>}
      {value && <Table shown={shown} sessions={sessions} totals={totals} />}
      {value && value.left_out_count > 0 && (
        <p class="muted">
          {plural(value.left_out_count, "process", "processes")} with less memory{" "}
          {value.left_out_count === 1 ? "is" : "are"} not listed.
        </p>
      )}
    </section>
  );
}
