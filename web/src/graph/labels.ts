/*
 * The text in a box: the longest form of a name that fits, else a part of it.
 */
import { functionName, shortName } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { cut } from "../format.ts";

export type Measure = (text: string) => number;

/* No picture is wide enough for more. */
const LONGEST = 400;
const SCOPES_CUT = 6;

/* Forms of a name, the longest first: whole, without arguments, without outer scopes. */
export function formsOf(profile: Profile, index: number): string[] {
  const whole = functionName(profile, index);
  const short = shortName(profile, index);
  const parts = short.split("::");
  const inner = parts.slice(1).map((_, i) => `…${parts.slice(i + 1).join("::")}`);
  const forms = [whole, short, ...inner.slice(-SCOPES_CUT)];
  return [...new Set(forms.map((form) => cut(form, LONGEST)))];
}

/* The beginning of the text that fits, with "…"; "" if not even three characters do. */
export function cutToFit(text: string, width: number, measure: Measure): string {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${text.slice(0, middle)}…`) <= width) low = middle;
    else high = middle - 1;
  }
  /* Not half of a character that takes two units. */
  const end = /[\ud800-\udbff]/.test(text[low - 1] ?? "") ? low - 1 : low;
  return end < 2 ? "" : `${text.slice(0, end)}…`;
}

/* The end of an address tells it from others: "…+0x1badf94". */
function endToFit(text: string, width: number, measure: Measure): string {
  for (let from = 1; from < text.length - 2; from++) {
    const end = `…${text.slice(from)}`;
    if (measure(end) <= width) return end;
  }
  return "";
}

/* The text for a box of this width; "" if there is no room. */
export function fitting(forms: readonly string[], width: number, measure: Measure): string {
  for (const form of forms) if (measure(form) <= width) return form;
  const last = forms[forms.length - 1];
  if (/\+0x[0-9a-f]+$/.test(last)) return endToFit(last, width, measure);
  return cutToFit(last.replace(/^…/, ""), width, measure);
}
