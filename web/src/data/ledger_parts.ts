/*
 * The lines of a ledger in few parts, as the report names them in a sentence: "blocks from malloc",
 * "code and data of modules". C says of each line which part it belongs to.
 *
 * Of several processes, memory that they share is divided among them (PSS): added up, their RSS
 * would count it once for each.
 */
import type { Ledger, LedgerLine, Report } from "./documents.ts";

export interface LedgerPart {
  name: string;
  bytes: number;
  lines: readonly LedgerLine[];
}

/* Whether the sizes are shares of PSS. */
export function isShared(ledger: Ledger): boolean {
  return (ledger.process_count ?? 1) > 1;
}

/* The whole of which the lines are parts. */
export function ledgerBytes(ledger: Ledger): number {
  return isShared(ledger) ? ledger.pss_bytes : ledger.rss_bytes;
}

export function lineBytes(ledger: Ledger, line: LedgerLine): number {
  return isShared(ledger) ? line.pss_bytes : line.rss_bytes;
}

/* The parts, the largest first, with the lines of each, the largest first. */
export function ledgerParts(ledger: Ledger): LedgerPart[] {
  const parts = new Map<string, LedgerLine[]>();
  for (const line of ledger.lines) {
    const lines = parts.get(line.part);
    if (lines) lines.push(line);
    else parts.set(line.part, [line]);
  }
  return [...parts]
    .map(([name, lines]) => ({
      name,
      bytes: lines.reduce((sum, line) => sum + lineBytes(ledger, line), 0),
      lines: lines.sort((a, b) => lineBytes(ledger, b) - lineBytes(ledger, a)),
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

/* What a line is, and its name where it has one. */
export function ledgerLineName(line: LedgerLine): string {
  return line.name ? `${line.words}: ${line.name}` : line.words;
}

/* The reading at which the most was resident, if the report has it beside that of the snapshot. */
export function highestLedger(report: Report): Ledger | null {
  const highest = report.rss_peak_ledger ?? null;
  const isOther = highest?.["read_to_seconds"] !== report.ledger?.["read_to_seconds"];
  return report.ledger && isOther ? highest : null;
}
