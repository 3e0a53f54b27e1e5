/*
 * The totals of a watched process over time, for the chart. When there are too many points, each
 * second one is left out, so that the memory has a limit.
 */
const POINTS_MAX = 2400;

export class Series {
  /* Seconds since the recording began. */
  times: number[] = [];
  live: (number | null)[] = [];
  rss: (number | null)[] = [];

  /* The last resident memory that is known, or null. */
  resident(): number | null {
    for (let i = this.rss.length - 1; i >= 0; i--) {
      if (this.rss[i] !== null) return this.rss[i];
    }
    return null;
  }

  add(seconds: number, live: number, rss: number | null): void {
    const last = this.times.length - 1;
    if (last >= 0 && seconds <= this.times[last]) return;
    this.push(seconds, live, rss);
  }

  /* Nothing is known of the time until the next point: the lines have a gap. */
  gap(): void {
    const last = this.times.length - 1;
    if (last >= 0 && this.live[last] !== null) this.push(this.times[last] + 0.001, null, null);
  }

  private push(seconds: number, live: number | null, rss: number | null): void {
    this.times.push(seconds);
    this.live.push(live);
    this.rss.push(rss);
    if (this.times.length > POINTS_MAX) this.thin();
  }

  private thin(): void {
    const last = this.times.length - 1;
    const kept = this.live.map((value, i) => i % 2 === 0 || value === null || i === last);
    this.times = this.times.filter((_, i) => kept[i]);
    this.live = this.live.filter((_, i) => kept[i]);
    this.rss = this.rss.filter((_, i) => kept[i]);
  }
}
