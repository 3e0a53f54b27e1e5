/*
 * The document "trend-P" (what `heapscope diff --trend --json` prints) as the view reads it: the
 * straight lines through the snapshots of a process. Nothing is computed here.
 */
import type { Tone } from "../controls/change_bar.tsx";

export interface Line {
  first: number;
  last: number;
  perSecond: number;
  low: number;
  high: number;
  stepsUp: number;
  stepsDown: number;
  verdict: string;
}

export interface TrendRow extends Line {
  /* The function; of a stack, all functions, the innermost first. */
  frames: readonly string[];
  /* 0 to 1; 0: no stack of it leaks by the rules of the report */
  leakConfidence: number;
}

export interface Trend {
  isCount: boolean;
  name: string;
  pid: number;
  snapshots: number;
  leftOut: number;
  seconds: number;
  heaps: string;
  total: Line;
  /* Resident memory: sentences, the name of the cause (heapscope-diff(1)), and the line through its
   * readings; null: not recorded. */
  resident: { words: string; cause: string; line: Line | null } | null;
  functions: readonly TrendRow[];
  stacks: readonly TrendRow[];
}

type Raw = Record<string, unknown>;

const isObject = (value: unknown): value is Raw => typeof value === "object" && value !== null;
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function lineOf(raw: unknown): Line {
  const line = isObject(raw) ? raw : {};
  return {
    first: numberOf(line["first"]),
    last: numberOf(line["last"]),
    perSecond: numberOf(line["per_second"]),
    low: numberOf(line["low"]),
    high: numberOf(line["high"]),
    stepsUp: numberOf(line["steps_up"]),
    stepsDown: numberOf(line["steps_down"]),
    verdict: textOf(line["verdict"]),
  };
}

function rowOf(raw: unknown): TrendRow {
  const row = isObject(raw) ? raw : {};
  const frames = Array.isArray(row["frames"]) ? row["frames"].map(textOf) : [];
  return {
    ...lineOf(raw),
    frames: frames.length > 0 ? frames : [textOf(row["function"])],
    leakConfidence: numberOf(row["leak_confidence"]),
  };
}

const rowsOf = (raw: unknown): TrendRow[] => (Array.isArray(raw) ? raw.map(rowOf) : []);

export function trendOf(raw: Raw): Trend {
  const resident = raw["resident"];
  return {
    isCount: raw["unit"] === "objects",
    name: textOf(raw["name"]),
    pid: numberOf(raw["pid"]),
    snapshots: numberOf(raw["snapshots"]),
    leftOut: numberOf(raw["snapshots_left_out"]),
    seconds: numberOf(raw["seconds"]),
    heaps: textOf(raw["heaps"]),
    total: lineOf(raw["total"]),
    resident: isObject(resident)
      ? {
          words: textOf(resident["verdict"]),
          cause: textOf(resident["cause"]),
          line: isObject(resident["rss"]) ? lineOf(resident["rss"]) : null,
        }
      : null,
    functions: rowsOf(raw["functions"]),
    stacks: rowsOf(raw["stacks"]),
  };
}

export function toneOf(line: Line): Tone {
  if (line.verdict === "grows") return "grew";
  return line.verdict === "shrinks" ? "shrank" : "noise";
}

export const TONE_SIGNS: Readonly<Record<Tone, string>> = { grew: "▲", shrank: "▼", noise: "≈" };

export const TONE_WORDS: Readonly<Record<Tone, string>> = {
  grew: "grows",
  shrank: "shrinks",
  noise: "no trend",
};
