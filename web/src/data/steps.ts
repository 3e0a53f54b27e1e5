/*
 * A value over time that holds until it changes: what a counter is. Times are in milliseconds from
 * the start of the file.
 */

export interface Steps {
  times: readonly number[];
  values: readonly number[];
}

/* The sum of all; each is 0 before its first time and from its `end` on, if that is known. */
export function sumOfSteps(parts: readonly { steps: Steps; end: number | null }[]): Steps {
  const changes: [number, number][] = [];
  for (const { steps, end } of parts) {
    let last = 0;
    steps.times.forEach((time, i) => {
      changes.push([time, steps.values[i] - last]);
      last = steps.values[i];
    });
    if (end !== null) changes.push([Math.max(end, steps.times[steps.times.length - 1]), -last]);
  }
  changes.sort((a, b) => a[0] - b[0]);
  const times: number[] = [];
  const values: number[] = [];
  let sum = 0;
  for (const [time, change] of changes) {
    sum += change;
    if (times[times.length - 1] === time) values[values.length - 1] = sum;
    else {
      times.push(time);
      values.push(sum);
    }
  }
  return { times, values };
}
