/*
 * What the resident memory of a watched process consists of: the parts as a bar, and the lines of
 * the part that was clicked.
 */
import type { Ledger, LedgerLine } from "../data/documents.ts";
import { bytes, cut, plural, share } from "../format.ts";
import { useParam } from "../state.ts";
import "./watch_ledger.css";

const LINES_SHOWN = 12;
const COLOURS = 8;

export interface Part {
  name: string;
  bytes: number;
  lines: readonly LedgerLine[];
}

/* The parts, the largest first. */
export function partsOf(ledger: Ledger): Part[] {
  const parts = new Map<string, LedgerLine[]>();
  for (const line of ledger.lines) {
    const own = parts.get(line.part);
    if (own) own.push(line);
    else parts.set(line.part, [line]);
  }
  const sum = (lines: readonly LedgerLine[]) =>
    lines.reduce((all, line) => all + line.rss_bytes, 0);
  return [...parts]
    .map(([name, lines]) => ({
      name,
      bytes: sum(lines),
      lines: [...lines].sort((a, b) => b.rss_bytes - a.rss_bytes),
    }))
    .filter((part) => part.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
}

const colour = (i: number) => `var(--series-${Math.min(i, COLOURS - 1) + 1})`;

function lineName({ words, name }: LedgerLine): string {
  return name ? `${words}: ${name.replace(/^.*\//, "")}` : words;
}

function Lines({ part, whole }: { part: Part; whole: number }) {
  const more = part.lines.length - LINES_SHOWN;
  return (
    <table class="live-ledger-lines">
      <caption>{cut(part.name, 80)}</caption>
      <tbody>
        {part.lines.slice(0, LINES_SHOWN).map((line, i) => (
          <tr key={i}>
            <th scope="row" title={cut(line.name ?? line.words, 1000)}>
              <bdi>{cut(lineName(line), 120)}</bdi>
              {!line.is_explained && <small class="muted"> not explained</small>}
            </th>
            <td class="number">{bytes(line.rss_bytes)}</td>
            <td class="number muted">{share(line.rss_bytes, whole)}</td>
          </tr>
        ))}
        {more > 0 && (
          <tr>
            <th scope="row" class="muted">
              and {plural(more, "smaller line")}
            </th>
          </tr>
        )}
      </tbody>
    </table>
  );
}

export function WatchLedger({ ledger }: { ledger: Ledger }) {
  const [open, setOpen] = useParam("live.part", "");
  const parts = partsOf(ledger);
  const whole = ledger.rss_bytes;
  const shown = parts.find((part) => part.name === open);
  return (
    <section class="live-ledger" aria-label="What the resident memory consists of">
      <div class="live-ledger-bar" aria-hidden="true">
        {parts.map((part, i) => (
          <div
            key={part.name}
            title={`${cut(part.name, 200)}: ${bytes(part.bytes)}`}
            style={{ flexGrow: part.bytes, background: colour(i) }}
            onClick={() => setOpen(part.name === open ? "" : part.name)}
          />
        ))}
      </div>
      <ul class="live-ledger-parts">
        {parts.map((part, i) => (
          <li key={part.name}>
            <button
              type="button"
              aria-expanded={part.name === open}
              onClick={() => setOpen(part.name === open ? "" : part.name)}
            >
              <span class="live-ledger-square" style={{ background: colour(i) }} />
              {cut(part.name, 80)} {bytes(part.bytes)}{" "}
              <span class="muted">{share(part.bytes, whole)}</span>
            </button>
          </li>
        ))}
        <li class="muted">
          not explained: {bytes(ledger.unexplained_bytes)} of {bytes(whole)} resident
        </li>
      </ul>
      {shown && <Lines part={shown} whole={whole} />}
    </section>
  );
}
