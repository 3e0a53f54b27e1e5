/*
 * The range of time that the timeline shows: zoomed, moved, and as it stands in the address
 * ("timeline.range=1200-3400", in milliseconds).
 */
export interface Range {
  from: number;
  to: number;
}

export const isIn = (time: number, range: Range) => time >= range.from && time <= range.to;

/* No range is shorter than this share of the whole. */
const SHORTEST = 1e-5;

export function parseRange(text: string | null, whole: Range): Range {
  const match = /^(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)$/.exec(text ?? "");
  if (!match) return whole;
  return limited({ from: Number(match[1]), to: Number(match[2]) }, whole) ?? whole;
}

/* null for the whole: the address has no key then. */
export function rangeText(range: Range, whole: Range): string | null {
  if (range.from <= whole.from && range.to >= whole.to) return null;
  const text = (value: number) => String(Math.round(value * 1000) / 1000);
  return `${text(range.from)}-${text(range.to)}`;
}

/* The part of a range that lies in the whole; null: none does. */
function limited(range: Range, whole: Range): Range | null {
  const from = Math.max(range.from, whole.from);
  const to = Math.min(range.to, whole.to);
  return to - from >= (whole.to - whole.from) * SHORTEST && to > from ? { from, to } : null;
}

/* Shows `factor` times as much time; `centre` stays where it is. */
export function zoomed(range: Range, whole: Range, factor: number, centre?: number): Range {
  const at = centre ?? (range.from + range.to) / 2;
  const next = { from: at - (at - range.from) * factor, to: at + (range.to - at) * factor };
  return limited(next, whole) ?? range;
}

/* Moves by a share of what is shown; stops at the ends of the whole. */
export function moved(range: Range, whole: Range, share: number): Range {
  const step = (range.to - range.from) * share;
  const by = Math.min(Math.max(step, whole.from - range.from), whole.to - range.to);
  return { from: range.from + by, to: range.to + by };
}

/* Moves one end by a share of what is shown; it stays in the whole and on its side of the other. */
export function withEnd(range: Range, whole: Range, end: "from" | "to", share: number): Range {
  const at = range[end] + (range.to - range.from) * share;
  return limited({ ...range, [end]: at }, whole) ?? range;
}

/* With Shift, arrows choose a range as a mouse does: its end, or, up and down, its beginning. */
function rangeOfShiftedKey(key: string, range: Range, whole: Range): Range | null {
  switch (key) {
    case "ArrowLeft":
      return withEnd(range, whole, "to", -0.1);
    case "ArrowRight":
      return withEnd(range, whole, "to", 0.1);
    case "ArrowUp":
      return withEnd(range, whole, "from", 0.1);
    case "ArrowDown":
      return withEnd(range, whole, "from", -0.1);
    default:
      return null;
  }
}

/* What a key does to the range; null: nothing. */
export function rangeOfKey(key: string, range: Range, whole: Range, isShift = false): Range | null {
  if (isShift && key.startsWith("Arrow")) return rangeOfShiftedKey(key, range, whole);
  switch (key) {
    case "+":
    case "=":
      return zoomed(range, whole, 0.5);
    case "-":
      return zoomed(range, whole, 2);
    case "ArrowLeft":
      return moved(range, whole, -0.2);
    case "ArrowRight":
      return moved(range, whole, 0.2);
    case "Home":
      return moved(range, whole, -1e9);
    case "End":
      return moved(range, whole, 1e9);
    case "0":
    case "Escape":
      return whole;
    default:
      return null;
  }
}
