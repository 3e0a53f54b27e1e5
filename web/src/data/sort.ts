/*
 * Sorts numbers by values, of which there may be a million: by 16 bits of a value at a time, the
 * lowest first, which takes as many steps as there are numbers. A comparison of two at a time
 * takes ten times as long.
 *
 * Ensures   numbers with equal values keep their order, both ways.
 */
const DIGITS = 65536;
/* Fewer numbers than this are sorted sooner by comparing them. */
const FEW = 20_000;

/* -0 and 0 are equal. */
function withoutNegativeZeros(values: Float64Array): Float64Array<ArrayBuffer> {
  const copy = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) copy[i] = values[i] + 0;
  return copy;
}

/*
 * The bits of the values, such that their order as integers is the order of the values. The lowest
 * 16 bits come first, as the processors of browsers have them.
 */
function orderedBits(values: Float64Array, isDescending: boolean): Uint16Array {
  const bits = new Uint32Array(withoutNegativeZeros(values).buffer);
  for (let i = 0; i < bits.length; i += 2) {
    const isBelow = bits[i + 1] >>> 31 === 1;
    const isTurned = isBelow !== isDescending;
    const sign = isBelow ? 0 : 0x80000000;
    bits[i + 1] = (isTurned ? ~bits[i + 1] : bits[i + 1]) ^ sign;
    if (isTurned) bits[i] = ~bits[i];
  }
  return new Uint16Array(bits.buffer);
}

/* How many values have each 16 bits at this place; null: all have the same. */
function countsOf(bits: Uint16Array, place: number): Uint32Array | null {
  const counts = new Uint32Array(DIGITS);
  for (let i = place; i < bits.length; i += 4) counts[bits[i]]++;
  return counts[bits[place]] === bits.length / 4 ? null : counts;
}

/* The numbers from 0 to `length`, in the order of their values. */
export function sortedBy(length: number, values: Float64Array, isDescending: boolean): Int32Array {
  let from = new Int32Array(length);
  for (let i = 0; i < length; i++) from[i] = i;
  if (length < FEW) {
    const sign = isDescending ? -1 : 1;
    from.sort((a, b) => sign * (values[a] - values[b]) || a - b);
  } else {
    const bits = orderedBits(values, isDescending);
    let to = new Int32Array(length);
    for (let place = 0; place < 4; place++) {
      const counts = countsOf(bits, place);
      if (!counts) continue;
      let before = 0;
      for (let digit = 0; digit < DIGITS; digit++) {
        const count = counts[digit];
        counts[digit] = before;
        before += count;
      }
      for (let i = 0; i < length; i++) to[counts[bits[4 * from[i] + place]]++] = from[i];
      [from, to] = [to, from];
    }
  }
  return from;
}
