/*
 * The ledger as three levels: parts ("code and data of modules"), kinds of lines in a part ("code
 * and constants of modules"), and single lines (one module, mapping or thread).
 *
 * Of several processes, shared pages would count several times in RSS, so sums are of PSS.
 */
import type { Ledger, LedgerLine } from "../data/documents.ts";

export interface LedgerItem {
  /* What stands in the address. */
  key: string;
  name: string;
  bytes: number;
  lines: readonly LedgerLine[];
}

export interface LedgerMeasure {
  title: string;
  whole: number;
  of: (line: LedgerLine) => number;
}

export function measureOfLedger(ledger: Ledger): LedgerMeasure {
  const isShared = typeof ledger["process_count"] === "number" && ledger["process_count"] > 1;
  return isShared
    ? { title: "PSS", whole: ledger.pss_bytes, of: (line) => line.pss_bytes }
    : { title: "RSS", whole: ledger.rss_bytes, of: (line) => line.rss_bytes };
}

function grouped(
  lines: readonly LedgerLine[],
  measure: LedgerMeasure,
  keyOf: (line: LedgerLine, i: number) => string,
  nameOf: (line: LedgerLine) => string,
): LedgerItem[] {
  const groups = new Map<string, LedgerLine[]>();
  lines.forEach((line, i) => {
    const key = keyOf(line, i);
    const group = groups.get(key);
    if (group) group.push(line);
    else groups.set(key, [line]);
  });
  return [...groups]
    .map(([key, own]) => ({
      key,
      name: nameOf(own[0]),
      bytes: own.reduce((sum, line) => sum + measure.of(line), 0),
      lines: own,
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

export interface Level {
  /* The lines of the level, and the items that it consists of, the largest first. */
  lines: readonly LedgerLine[];
  items: readonly LedgerItem[];
  /* Whether the items consist of smaller ones. */
  isDivisible: boolean;
}

export function levelOf(
  ledger: Ledger,
  part: string | null,
  kind: string | null,
  measure = measureOfLedger(ledger),
): Level {
  const inPart = ledger.lines.filter((line) => part === null || line.part === part);
  if (part === null) {
    const items = grouped(
      inPart,
      measure,
      (line) => line.part,
      (line) => line.part,
    );
    return { lines: inPart, items, isDivisible: true };
  }
  const inKind = inPart.filter((line) => kind === null || line.kind === kind);
  if (kind === null) {
    const items = grouped(
      inKind,
      measure,
      (line) => line.kind,
      (line) => line.words,
    );
    return { lines: inKind, items, isDivisible: true };
  }
  const items = grouped(
    inKind,
    measure,
    (_, i) => String(i),
    (line) => line.name ?? line.words,
  );
  return { lines: inKind, items, isDivisible: false };
}

/* The items for a bar: the largest, and the others as one. */
export function barItems(items: readonly LedgerItem[], most: number): LedgerItem[] {
  const shown = items.filter((item) => item.bytes > 0);
  if (shown.length <= most) return shown;
  const others = shown.slice(most - 1);
  return [
    ...shown.slice(0, most - 1),
    {
      key: "",
      name: `${others.length} smaller`,
      bytes: others.reduce((sum, item) => sum + item.bytes, 0),
      lines: [],
    },
  ];
}
