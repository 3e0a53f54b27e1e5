/*
 * What changed, in one paragraph and in single words.
 */
import type { Tone } from "../controls/change_bar.tsx";
import type { Change, Verdict } from "../data/margin.ts";
import type { Measure } from "../data/measures.ts";
import { cut, margin, plural, signed } from "../format.ts";

export function toneOf(verdict: Verdict): Tone {
  if (verdict === "grew" || verdict === "new") return "grew";
  if (verdict === "shrank" || verdict === "gone") return "shrank";
  return "noise";
}

export const VERDICT_WORDS: Readonly<Record<Verdict, string>> = {
  grew: "grew",
  new: "new",
  shrank: "shrank",
  gone: "gone",
  noise: "within noise",
  same: "no change",
};

/* So that the direction is seen without colour. */
export const VERDICT_SIGNS: Readonly<Record<Verdict, string>> = {
  grew: "▲",
  new: "▲",
  shrank: "▼",
  gone: "▼",
  noise: "≈",
  same: "=",
};

const NAMED_MOST = 3;
const NAME_CHARACTERS = 80;

export interface Named {
  name: string;
  change: Change;
}

/* "+1.20 MiB", "−3". */
export function deltaText(change: Change, measure: Measure): string {
  return signed(change.delta, measure.format);
}

/* "± 0.30 MiB", or "" where there is none. */
export function marginText(change: Change, measure: Measure): string {
  return margin(change.delta, change.low, change.high, measure.format);
}

function listOf(items: readonly string[]): string {
  if (items.length <= 1) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
}

function wholeSentence(change: Change, measure: Measure, hasMargins: boolean): string {
  const [before, after] = [measure.format(change.before), measure.format(change.after)];
  const what = measure.title;
  const by = measure.format(Math.abs(change.delta));
  const error = hasMargins ? marginText(change, measure) : "";
  const within = error ? ` (${error})` : "";
  switch (change.verdict) {
    case "same":
      return `${what}: ${before} on both sides.`;
    case "noise":
      return (
        `${what}: ${before} before, ${after} after. ` +
        `The difference is not larger than the chance of sampling explains.`
      );
    case "grew":
    case "new":
      return `${what} grew by ${by}${within}, from ${before} to ${after}.`;
    case "shrank":
    case "gone":
      return `${what} shrank by ${by}${within}, from ${before} to ${after}.`;
  }
}

/* "load +3.00 MiB, parse +1.20 MiB and 4 other functions grew." */
function movedSentence(list: readonly Named[], verb: string, measure: Measure): string {
  if (list.length === 0) return "";
  const named = list
    .slice(0, NAMED_MOST)
    .map(({ name, change }) => `${cut(name, NAME_CHARACTERS)} ${deltaText(change, measure)}`);
  const rest = list.length - named.length;
  if (rest > 0) named.push(plural(rest, "other function"));
  return ` What ${verb}: ${listOf(named)}.`;
}

/*
 * The paragraph above the tables. `functions` are all functions with a figure on one side, by what
 * they allocated themselves, the largest change first.
 */
export function whatChanged(
  whole: Change,
  functions: readonly Named[],
  measure: Measure,
  hasMargins: boolean,
): string {
  const of = (tone: Tone) => functions.filter(({ change }) => toneOf(change.verdict) === tone);
  const noise = functions.filter(({ change }) => change.verdict === "noise").length;
  const parts = [
    wholeSentence(whole, measure, hasMargins),
    movedSentence(of("grew"), "grew", measure),
    movedSentence(of("shrank"), "shrank", measure),
  ];
  if (noise > 0) {
    parts.push(` The changes of ${plural(noise, "function")} may be chance.`);
  }
  return parts.join("");
}
