/*
 * The lines of a ledger in few parts, as the report names them in a sentence: "blocks from malloc",
 * "code and data of modules". C says of each line which part it belongs to.
 */
import type { Ledger, LedgerLine } from "./documents.ts";

export interface LedgerPart {
  name: string;
  rssBytes: number;
  lines: readonly LedgerLine[];
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
      rssBytes: lines.reduce((sum, line) => sum + line.rss_bytes, 0),
      lines: lines.sort((a, b) => b.rss_bytes - a.rss_bytes),
    }))
    .sort((a, b) => b.rssBytes - a.rssBytes);
}

/* What a line is, and its name where it has one. */
export function ledgerLineName(line: LedgerLine): string {
  return line.name ? `${line.words}: ${line.name}` : line.words;
}
