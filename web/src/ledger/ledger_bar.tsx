/*
 * One level of the ledger as a bar and a table; a part is opened by a click on it.
 */
import { DownloadMenu } from "../controls/download_menu.tsx";
import { NameText } from "../controls/name_text.tsx";
import type { Ledger, LedgerLine } from "../data/documents.ts";
import { remediesOf } from "../data/report_parts.ts";
import { saveCsv } from "../download.ts";
import { bytes, count, cut, duration, share } from "../format.ts";
import { linkTo, navigate, useAddress } from "../state.ts";
import { barItems, levelOf, measureOfLedger, type LedgerItem } from "./levels.ts";

const BAR_PARTS = 8;
const REMEDY_WORDS: Readonly<Record<string, string>> = {
  malloc_trim: "malloc_trim(3) would give this back to the system",
  malloc_arena_max: "fewer arenas (MALLOC_ARENA_MAX) would keep less of this free",
  malloc_trim_threshold: "a smaller MALLOC_TRIM_THRESHOLD_ would give back a part of this",
  malloc_mmap_threshold: "a smaller MALLOC_MMAP_THRESHOLD_ would give back a part of this",
  jemalloc_decay: "a shorter dirty_decay_ms of jemalloc would give back a part of this",
};

function Path({
  ledger,
  part,
  kind,
}: {
  ledger: Ledger;
  part: string | null;
  kind: string | null;
}) {
  const kindLine = ledger.lines.find((line) => line.kind === kind);
  return (
    <nav class="ledger-path" aria-label="Level">
      {part === null ? (
        <b>All of it</b>
      ) : (
        <a href={linkTo({ "ledger.part": null, "ledger.kind": null })}>All of it</a>
      )}
      {part !== null && (
        <>
          {" › "}
          {kind === null ? <b>{part}</b> : <a href={linkTo({ "ledger.kind": null })}>{part}</a>}
        </>
      )}
      {kind !== null && (
        <>
          {" › "}
          <b>{kindLine?.words ?? kind}</b>
        </>
      )}
    </nav>
  );
}

interface ItemProps {
  items: readonly LedgerItem[];
  whole: number;
  onOpen: ((item: LedgerItem) => void) | null;
}

function Bar({ items, whole, onOpen }: ItemProps) {
  return (
    <div class="ledger-bar" aria-hidden="true">
      {barItems(items, BAR_PARTS).map((item, i) => (
        <div
          key={item.key || "rest"}
          title={`${cut(item.name, 300)}: ${bytes(item.bytes)}, ${share(item.bytes, whole)}`}
          class={onOpen && item.key ? "ledger-can-open" : ""}
          style={{
            flexGrow: item.bytes,
            background: `var(--tint-${(i % 8) + 1})`,
            borderTopColor: `var(--series-${(i % 8) + 1})`,
          }}
          onClick={onOpen && item.key ? () => onOpen(item) : undefined}
        >
          {item.bytes >= whole * 0.07 && (
            <>
              <span class="ledger-bar-name">{cut(item.name, 80)}</span>
              <span class="ledger-bar-name">{bytes(item.bytes)}</span>
            </>
          )}
        </div>
      ))}
    </div>
  );
}

/* What of a line of an allocator is in recorded blocks, where that is known. */
function BlocksOf({ line }: { line: LedgerLine }) {
  const blocks = line["blocks_bytes"];
  if (typeof blocks !== "number") return null;
  return <small class="muted">of it in recorded live blocks: {bytes(blocks)}</small>;
}

const TERMS =
  "PSS: shared pages are divided among the processes that share them. Size: addresses, resident " +
  "or not. Number: of blocks, mappings or threads.";

function Items({ items, whole, onOpen }: ItemProps) {
  const sum = (lines: readonly LedgerLine[], key: "pss_bytes" | "swap_bytes" | "size_bytes") =>
    bytes(lines.reduce((total, line) => total + line[key], 0));
  return (
    <div class="ledger-scroll" tabIndex={0} role="region" aria-label="Lines">
      <table class="ledger-table controls-cards">
        <thead>
          <tr>
            <th>What</th>
            <th class="number">Resident</th>
            <th class="number">Share</th>
            <th class="number">PSS</th>
            <th class="number">Swapped</th>
            <th class="number">Size</th>
            <th class="number">Number</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item, i) => (
            <tr key={item.key}>
              <td>
                <span
                  class="controls-square"
                  style={{ background: `var(--series-${Math.min(i, BAR_PARTS - 1) + 1})` }}
                />{" "}
                {onOpen ? (
                  <button type="button" class="controls-plain" onClick={() => onOpen(item)}>
                    {item.name}
                  </button>
                ) : (
                  <NameText text={item.name} />
                )}
                {item.lines.every((line) => !line.is_explained) && (
                  <small class="ledger-unexplained">not explained</small>
                )}
                {item.lines.length === 1 && <BlocksOf line={item.lines[0]} />}
              </td>
              <td class="number" data-title="Resident">
                {bytes(item.lines.reduce((total, line) => total + line.rss_bytes, 0))}
              </td>
              <td class="number" data-title="Share">
                {share(item.bytes, whole)}
              </td>
              <td class="number" data-title="PSS">
                {sum(item.lines, "pss_bytes")}
              </td>
              <td class="number" data-title="Swapped">
                {sum(item.lines, "swap_bytes")}
              </td>
              <td class="number" data-title="Size">
                {sum(item.lines, "size_bytes")}
              </td>
              <td class="number" data-title="Number">
                {item.lines.length === 1 ? count(item.lines[0].count) : count(item.lines.length)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="muted ledger-terms">{TERMS}</p>
    </div>
  );
}

function save(ledger: Ledger): void {
  saveCsv(
    "resident-memory",
    [
      "part",
      "kind",
      "words",
      "name",
      "explained",
      "rss_bytes",
      "pss_bytes",
      "swap_bytes",
      "size_bytes",
      "count",
    ],
    ledger.lines.map((line) => [
      line.part,
      line.kind,
      line.words,
      line.name ?? "",
      line.is_explained ? 1 : 0,
      line.rss_bytes,
      line.pss_bytes,
      line.swap_bytes,
      line.size_bytes,
      line.count,
    ]),
  );
}

function Remedies({ ledger }: { ledger: Ledger }) {
  const remedies = remediesOf(ledger);
  const unexplained = ledger.unexplained_bytes;
  return (
    <ul class="ledger-remarks">
      <li>
        Not explained: <b>{bytes(unexplained)}</b>, {share(unexplained, ledger.rss_bytes)} of the
        resident memory.
      </li>
      {remedies.map(({ remedy, bytes: size }) => (
        <li key={remedy}>
          <b>{bytes(size)}</b>: {REMEDY_WORDS[remedy] ?? remedy}.
        </li>
      ))}
    </ul>
  );
}

function readAt(ledger: Ledger): string {
  const at = ledger["read_to_seconds"];
  return typeof at === "number" ? `, read ${duration(at)} after the start` : "";
}

export function LedgerBar({ ledger, words }: { ledger: Ledger; words: string | null }) {
  const address = useAddress();
  const measure = measureOfLedger(ledger);
  const wanted = address.get("ledger.part");
  const part = ledger.lines.some((line) => line.part === wanted) ? wanted : null;
  const wantedKind = part === null ? null : address.get("ledger.kind");
  const isKind = ledger.lines.some((line) => line.part === part && line.kind === wantedKind);
  const kind = isKind ? wantedKind : null;
  const level = levelOf(ledger, part, kind, measure);
  const whole = level.items.reduce((sum, item) => sum + item.bytes, 0);
  const onOpen = level.isDivisible
    ? ({ key }: LedgerItem) =>
        navigate(
          part === null ? { "ledger.part": key, "ledger.kind": null } : { "ledger.kind": key },
        )
    : null;
  return (
    <section class="ledger-card">
      <div class="ledger-head">
        <h2>
          {bytes(measure.whole)} {measure.title === "PSS" ? "resident (PSS)" : "resident"}
          <small class="muted">{readAt(ledger)}</small>
        </h2>
        <DownloadMenu downloads={[{ text: "CSV", save: () => save(ledger) }]} />
      </div>
      {words && part === null && <p class="ledger-words">{words}</p>}
      <Path ledger={ledger} part={part} kind={kind} />
      <Bar items={level.items} whole={whole} onOpen={onOpen} />
      <Items items={level.items} whole={measure.whole} onOpen={onOpen} />
      {part === null && <Remedies ledger={ledger} />}
    </section>
  );
}
