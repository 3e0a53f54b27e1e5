/*
 * The connection that a process is watched through: it connects again when it is lost, and is
 * closed while the tab is hidden.
 *
 * The server itself ends a stream with a reason; then there is nothing to connect to.
 */
import { ask, ServerError } from "../data/server.ts";
import type { Ledger } from "../data/documents.ts";
import { makeVisible } from "../data/visible.ts";
import { Series } from "./series.ts";
import { onVisibility } from "./use_poll.ts";
import { readEvents, type ServerEvent, type WatchUpdate } from "./watch_events.ts";
import { WatchState } from "./watch_state.ts";

export type LinkStatus =
  | { kind: "connecting" }
  /* The first stacks come; so many are there. */
  | { kind: "receiving"; count: number }
  | { kind: "live" }
  | { kind: "hidden" }
  /* The picture stands still; so many updates wait. */
  | { kind: "paused"; waiting: number }
  /* The connection is lost; it is tried again at this time (Date.now()). */
  | { kind: "lost"; error: unknown; againAt: number }
  /* It is over: the reason, in the words of the collector. */
  | { kind: "ended"; reason: string };

/* So many updates are kept while the picture is paused; then the connection is closed. */
const WAITING_MAX = 300;
const RETRY_MS = [1000, 2000, 5000, 10000];

/* Names are made visible; there are far more numbers than names. */
function updateOf(data: string): WatchUpdate {
  const raw = JSON.parse(data) as WatchUpdate;
  return {
    ...raw,
    process: makeVisible(raw.process),
    heaps: makeVisible(raw.heaps),
    strings: makeVisible(raw.strings),
  };
}

export class WatchLink {
  state = new WatchState();
  series = new Series();
  status: LinkStatus = { kind: "connecting" };
  private stopped: AbortController | null = null;
  private waiting: WatchUpdate[] = [];
  private tries = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private forget: () => void;

  constructor(
    private pid: number,
    private intervalMs: number,
    private onChange: () => void,
  ) {
    this.forget = onVisibility((isVisible) => this.onVisibility(isVisible));
    this.onVisibility(!document.hidden);
  }

  close(): void {
    this.forget();
    this.disconnect();
  }

  private set(status: LinkStatus): void {
    this.status = status;
    this.onChange();
  }

  private disconnect(): void {
    clearTimeout(this.timer);
    this.stopped?.abort();
    this.stopped = null;
  }

  pause(): void {
    if (this.status.kind === "live") this.set({ kind: "paused", waiting: 0 });
  }

  /* Shows what has come meanwhile. */
  resume(): void {
    if (this.status.kind !== "paused") return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const update of waiting) this.apply(update);
    if (this.stopped) {
      this.set({ kind: "live" });
      return;
    }
    this.series.gap();
    void this.connect();
  }

  private onVisibility(isVisible: boolean): void {
    if (this.status.kind === "ended") return;
    if (this.status.kind === "paused") {
      if (!isVisible) this.disconnect();
      return;
    }
    this.disconnect();
    if (isVisible) {
      void this.connect();
    } else {
      this.series.gap();
      this.set({ kind: "hidden" });
    }
  }

  /* Connects now, also after an end. */
  connect = async (): Promise<void> => {
    this.disconnect();
    const own = (this.stopped = new AbortController());
    this.set({ kind: "connecting" });
    let isFresh = true;
    const take = (event: ServerEvent) => {
      if (own.signal.aborted) return;
      if (isFresh && event.event === "update") this.state = new WatchState();
      isFresh = false;
      this.take(event);
    };
    try {
      const path = `api/watch?pid=${this.pid}&interval_ms=${this.intervalMs}`;
      await readEvents(await ask(path, { signal: own.signal }), take);
      if (!own.signal.aborted && !this.isEnded()) throw new Error("The stream of updates stopped");
    } catch (error) {
      if (!own.signal.aborted) this.lose(error);
    }
  };

  private isEnded(): boolean {
    return this.status.kind === "ended";
  }

  private lose(error: unknown): void {
    this.disconnect();
    if (this.status.kind === "paused") return; // it connects when it goes on
    this.series.gap();
    if (error instanceof ServerError && error.status !== 0 && error.status !== 503) {
      this.set({ kind: "ended", reason: `${error.message} ${error.next}` });
      return;
    }
    const pause = RETRY_MS[Math.min(this.tries++, RETRY_MS.length - 1)];
    this.timer = setTimeout(() => void this.connect(), pause);
    this.set({ kind: "lost", error, againAt: Date.now() + pause });
  }

  private take({ event, data }: ServerEvent): void {
    if (event === "ledger") {
      this.state.ledger = makeVisible(JSON.parse(data) as Ledger);
      if (this.status.kind === "live") this.onChange();
      return;
    }
    if (event === "end") {
      const { reason } = makeVisible(JSON.parse(data) as { reason: string });
      for (const update of this.waiting.splice(0)) this.apply(update);
      this.series.gap();
      this.set({ kind: "ended", reason });
      return;
    }
    if (event !== "update") return;
    this.tries = 0;
    const update = updateOf(data);
    if (this.status.kind === "paused") {
      this.wait(update);
      return;
    }
    this.apply(update);
    /* Of many stacks, the first update has parts: until the last of them, sums mean nothing. Later
     * ones are shown with their last part, too. */
    if (!update.has_more) this.set({ kind: "live" });
    else if (this.status.kind !== "live")
      this.set({ kind: "receiving", count: this.state.stackCount });
  }

  private apply(update: WatchUpdate): void {
    this.state.take(update);
    if (update.has_more) return;
    const { live_bytes, rss_bytes } = update.process;
    /* A process that has ended has no resident memory any more. */
    this.series.add(update.time_ms / 1000, live_bytes, rss_bytes || null);
  }

  private wait(update: WatchUpdate): void {
    this.waiting.push(update);
    if (this.waiting.length >= WAITING_MAX) this.disconnect();
    this.set({ kind: "paused", waiting: this.waiting.length });
  }
}
