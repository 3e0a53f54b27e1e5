/*
 * The top functions, stacks or types of a watched process, with what they grow by a second.
 */
import { useState } from "preact/hooks";

import { bytes, count, cut, plural, share, signed } from "../format.ts";
import { navigate, useParam } from "../state.ts";
import { moveInColumn, SortHead } from "./grid_keys.tsx";
import { FRAMES_SHOWN, topRows, typeName, type Kind, type TopSort } from "./top_rows.ts";
import type { FunctionRow, Row, WatchState } from "./watch_state.ts";

const SORTS: readonly { key: TopSort; title: string }[] = [
  { key: "self", title: "Self" },
  { key: "live", title: "Live" },
  { key: "growth", title: "Growth a second" },
  { key: "blocks", title: "Blocks" },
  { key: "alloc", title: "Allocated" },
];

/* What was allocated and freed again has no type any more. */
function sortsOf(kind: Kind): typeof SORTS {
  if (kind === "types") return SORTS.filter(({ key }) => key !== "self" && key !== "alloc");
  if (kind === "stacks") return SORTS.filter(({ key }) => key !== "self");
  return SORTS.map((each) => (each.key === "live" ? { ...each, title: "Total" } : each));
}

export function growthText(growth: number | null): string {
  if (growth === null) return "…";
  return Math.abs(growth) < 0.5 ? "0 B" : signed(growth, bytes);
}

function growthClass(growth: number | null): string {
  if (growth === null || Math.abs(growth) < 0.5) return "number muted";
  return growth > 0 ? "number live-grew" : "number live-shrank";
}

interface FiguresProps {
  row: Row;
  /* null: all is its own. */
  ownBytes: number | null;
  whole: number;
}

function Figures({ row, ownBytes, whole }: FiguresProps) {
  return (
    <>
      {ownBytes !== null && (
        <td class="number">
          {bytes(ownBytes)} <small class="muted">{share(ownBytes, whole)}</small>
        </td>
      )}
      <td class="number">
        {bytes(row.liveBytes)} <small class="muted">{share(row.liveBytes, whole)}</small>
      </td>
      <td class={growthClass(row.growth)}>{growthText(row.growth)}</td>
      <td class="number">{count(row.liveCount)}</td>
      {!Number.isNaN(row.allocBytes) && <td class="number">{bytes(row.allocBytes)}</td>}
    </>
  );
}

function FunctionCell({ state, row }: { state: WatchState; row: FunctionRow }) {
  const name = state.text(row.id) || "[no name]";
  const module = state.text(row.module).replace(/^.*\//, "");
  return (
    <th scope="row" title={cut(name, 2000)}>
      <bdi class="name">{cut(name, 160)}</bdi>
      {module && <bdi class="muted live-module"> {cut(module, 60)}</bdi>}
    </th>
  );
}

function TypeCell({ state, row }: { state: WatchState; row: Row }) {
  const name = typeName(state, row.id);
  return (
    <th scope="row" title={cut(name, 2000)}>
      <bdi class="name">{cut(name, 160)}</bdi>
    </th>
  );
}

function Frames({ state, stack }: { state: WatchState; stack: number }) {
  const frames = state.framesOf(stack);
  return (
    <ol class="live-frames">
      {frames.slice(0, FRAMES_SHOWN).map((frame, i) => (
        <li key={i}>
          <bdi class="name">{cut(state.functionName(frame), 400)}</bdi>
          <bdi class="muted"> {cut(state.moduleName(frame), 80)}</bdi>
        </li>
      ))}
      {frames.length > FRAMES_SHOWN && (
        <li class="muted">and {plural(frames.length - FRAMES_SHOWN, "outer frame")}</li>
      )}
    </ol>
  );
}

interface StackCellProps {
  state: WatchState;
  stack: number;
  isOpen: boolean;
  onOpen: () => void;
}

function StackCell({ state, stack, isOpen, onOpen }: StackCellProps) {
  const headline = state.headlineOf(stack);
  const [first, ...others] = state.framesOf(stack).slice(headline, headline + 3);
  const innermost = first === undefined ? "[no stack]" : state.functionName(first);
  return (
    <th scope="row">
      <button type="button" class="live-expand" aria-expanded={isOpen} onClick={onOpen}>
        <span aria-hidden="true">{isOpen ? "▾" : "▸"} </span>
        <bdi class="name">{cut(innermost, 100)}</bdi>
      </button>
      {!isOpen && (
        <bdi class="muted live-callers">
          {others.map((frame) => ` ← ${cut(state.functionName(frame), 60)}`).join("")}
        </bdi>
      )}
      <bdi class="muted live-heap"> {cut(state.heapOf(stack), 40)}</bdi>
      {isOpen && <Frames state={state} stack={stack} />}
    </th>
  );
}

interface Props {
  state: WatchState;
  kind: Kind;
  heap: number | null;
  filter: string;
}

const TITLES: Record<Kind, { column: string; table: string }> = {
  functions: { column: "Function", table: "Functions" },
  stacks: { column: "Stack", table: "Stacks" },
  types: { column: "Type of the blocks", table: "Types" },
};

function whyEmpty(state: WatchState, kind: Kind, filter: string): string {
  if (filter) return "No name contains this text.";
  if (kind === "types" && state.update?.types === null) {
    return "The session leaves types of blocks out: it was started with --no-types.";
  }
  return "Nothing lives on the heap.";
}

export function WatchTable({ state, kind, heap, filter }: Props) {
  const [sortText, setSort] = useParam("live.top", "");
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const sorts = sortsOf(kind);
  const sort = sorts.find((each) => each.key === sortText)?.key ?? sorts[0].key;
  const isLeftOut = kind === "types" && state.update?.types === null;
  const { rows, leftOut } = isLeftOut
    ? { rows: [], leftOut: 0 }
    : topRows(state, { kind, heap, filter, sort });
  const whole = state.update?.process.live_bytes ?? 0;
  const toggle = (id: number) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  return (
    <div class="live-scroll" tabIndex={0} role="region" aria-label={TITLES[kind].table}>
      <table class="live-table live-top" onKeyDown={moveInColumn}>
        <caption class="hidden-but-read">{TITLES[kind].table} with the largest figures</caption>
        <thead>
          <tr>
            <th scope="col">{TITLES[kind].column}</th>
            {sorts.map(({ key, title }) => (
              <SortHead
                key={key}
                title={title}
                isNumber
                order={key === sort ? "descending" : null}
                onSort={() => setSort(key)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              {kind === "functions" && <FunctionCell state={state} row={row as FunctionRow} />}
              {kind === "types" && <TypeCell state={state} row={row} />}
              {kind === "stacks" && (
                <StackCell
                  state={state}
                  stack={row.id}
                  isOpen={open.has(row.id)}
                  onOpen={() => toggle(row.id)}
                />
              )}
              <Figures
                row={row}
                ownBytes={kind === "functions" ? (row as FunctionRow).ownBytes : null}
                whole={whole}
              />
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && (
        <p>
          {whyEmpty(state, kind, filter)}{" "}
          {filter && (
            <button type="button" onClick={() => navigate({ "live.search": null })}>
              Show all
            </button>
          )}
        </p>
      )}
      {leftOut > 0 && <p class="muted">{count(leftOut)} smaller ones are not listed.</p>}
    </div>
  );
}
