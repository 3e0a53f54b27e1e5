/* ledger/ and leaks/: levels of the resident memory, and how verdicts are worded. */
import { expect, it } from "vitest";

import type { Ledger, LedgerLine } from "../src/data/documents.ts";
import { firstOfProgram } from "../src/controls/report_stack.tsx";
import { decodeProfile } from "../src/data/profile.ts";
import { lifetimeText } from "../src/leaks/lifetimes.tsx";
import { barItems, levelOf, measureOfLedger } from "../src/ledger/levels.ts";
import { sampleProfile, sampleSource } from "./sample.ts";

const line = (kind: string, part: string, rss: number, name?: string): LedgerLine => ({
  kind,
  words: `words of ${kind}`,
  part,
  ...(name ? { name } : {}),
  is_explained: kind !== "anonymous",
  rss_bytes: rss,
  pss_bytes: rss / 2,
  swap_bytes: 0,
  size_bytes: rss,
  count: 1,
});

const ledger = (processes: number): Ledger => ({
  rss_bytes: 100,
  pss_bytes: 50,
  unexplained_bytes: 5,
  process_count: processes,
  lines: [
    line("code", "modules", 30, "libc"),
    line("code", "modules", 40, "app"),
    line("data", "modules", 10, "app"),
    line("anonymous", "other", 5),
    line("malloc_used", "blocks", 15),
  ],
});

const items = (part: string | null, kind: string | null) =>
  levelOf(ledger(1), part, kind).items.map((item) => [item.name, item.bytes]);

it("divides the resident memory into parts, kinds and lines", () => {
  expect(items(null, null)).toEqual([
    ["modules", 80],
    ["blocks", 15],
    ["other", 5],
  ]);
  expect(items("modules", null)).toEqual([
    ["words of code", 70],
    ["words of data", 10],
  ]);
  expect(items("modules", "code")).toEqual([
    ["app", 40],
    ["libc", 30],
  ]);
});

it("adds up PSS where several processes share pages", () => {
  expect(measureOfLedger(ledger(1)).whole).toBe(100);
  expect(measureOfLedger(ledger(3)).whole).toBe(50);
  expect(levelOf(ledger(3), null, null).items[0].bytes).toBe(40);
});

it("draws the smallest parts as one", () => {
  const all = levelOf(ledger(1), null, null).items;
  expect(barItems(all, 3)).toHaveLength(3);
  expect(barItems(all, 2).map((item) => [item.name, item.bytes])).toEqual([
    ["modules", 80],
    ["2 smaller", 20],
  ]);
});

it("says of short lifetimes no more than the clock tells", () => {
  expect(lifetimeText(0.003)).toBe("under 10.0 ms");
  expect(lifetimeText(470)).toBe("470 ms");
  expect(lifetimeText(undefined)).toBe("not known");
});

it("names a stack after the first function that does not merely allocate", () => {
  const raw = sampleProfile();
  raw.functions["is_wrapper"] = [0, 0, 1];
  raw.functions["class"] = [0, 3, 0];
  const profile = decodeProfile(raw, sampleSource());
  const first = (...names: string[]) =>
    firstOfProgram(
      profile,
      names.map((name) => ({ function: name })),
    );
  expect(first("parse", "load", "main")).toBe(2);
  expect(first("parse", "load")).toBe(0);
  expect(first("unknown", "main")).toBe(0);
});
