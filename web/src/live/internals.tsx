/*
 * What heapscope itself costs: memory and CPU time of its processes, and counters of this server.
 * It is asked for only while it is open.
 */
import { useState } from "preact/hooks";

import { getJson } from "../data/server.ts";
import { bytes, count, cut, duration } from "../format.ts";
import { Trouble } from "../shell/trouble.tsx";
import type { Internals as Answer } from "./answers.ts";
import { usePoll } from "./use_poll.ts";

const PAUSE_MS = 4000;

const COUNTERS: readonly [string, string][] = [
  ["request_count", "requests answered"],
  ["refused_count", "requests refused"],
  ["foreign_connection_count", "connections of other users refused"],
  ["slow_connection_count", "slow connections closed"],
  ["connection_count", "connections open"],
  ["stream_count", "watches open"],
];

function Table({ answer }: { answer: Answer }) {
  return (
    <div class="live-scroll" tabIndex={0} role="region" aria-label="Processes of heapscope">
      <table class="live-table">
        <caption class="hidden-but-read">Processes of heapscope</caption>
        <thead>
          <tr>
            <th scope="col">Process</th>
            {["Pid", "Resident", "Share of it (PSS)", "Private", "CPU time"].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.processes.map((process) => (
            <tr key={process.pid}>
              <th scope="row" title={cut(process.command ?? "", 1000)}>
                <bdi class="name">{cut(process.command ?? process.name, 80)}</bdi>
                {process.is_ui && <span class="muted"> (this server)</span>}
              </th>
              <td class="number">{process.pid}</td>
              <td class="number">{bytes(process.rss_bytes)}</td>
              <td class="number">{bytes(process.pss_bytes)}</td>
              <td class="number">{bytes(process.private_bytes)}</td>
              <td class="number">{duration(process.cpu_ms / 1000)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Counters({ server }: { server: Answer["server"] }) {
  const parts = COUNTERS.map(([key, words]) => `${count(server[key] ?? 0)} ${words}`);
  parts.push(`${bytes(server["kept_answer_bytes"] ?? 0)} of answers kept`);
  return <p class="muted">This server: {parts.join(" · ")}.</p>;
}

export function Internals() {
  const [isOpen, setIsOpen] = useState(false);
  const { value, error } = usePoll(() => getJson<Answer>("api/internals"), PAUSE_MS, isOpen);
  return (
    <details class="live-internals" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>What heapscope itself takes</summary>
      {error !== null && <Trouble error={error} />}
      {isOpen && !value && error === null && <p class="loading">Reading…</p>}
      {value && (
        <>
          <Table answer={value} />
          <Counters server={value.server} />
        </>
      )}
    </details>
  );
}
