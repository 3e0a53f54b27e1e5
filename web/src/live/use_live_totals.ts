/*
 * How much lives in the processes that are recorded, for the list: of the first few, each through
 * a watch of its own with a long pause.
 */
import { useEffect, useRef, useState } from "preact/hooks";

import { recordingsOf, type Sessions } from "./answers.ts";
import { WatchLink } from "./watch_link.ts";

/* A browser has six connections to a server, for all windows: some must be left for the rest. */
const WATCHED_MAX = 2;
const PAUSE_MS = 3000;

export type LiveTotals = ReadonlyMap<number, number>;

export function useLiveTotals(sessions: Sessions | null): LiveTotals {
  const [totals, setTotals] = useState<LiveTotals>(new Map());
  const links = useRef(new Map<number, WatchLink>());
  const pids = sessions
    ? recordingsOf(sessions)
        .flatMap((recording) => recording.clients.map((client) => client.pid))
        .slice(0, WATCHED_MAX)
    : [];
  useEffect(() => {
    const read = () => {
      const next = new Map<number, number>();
      for (const [pid, link] of links.current) {
        const live = link.state.update?.process.live_bytes;
        if (live !== undefined && link.status.kind === "live") next.set(pid, live);
      }
      setTotals(next);
    };
    for (const [pid, link] of links.current) {
      if (pids.includes(pid)) continue;
      link.close();
      links.current.delete(pid);
    }
    for (const pid of pids) {
      if (!links.current.has(pid)) links.current.set(pid, new WatchLink(pid, PAUSE_MS, read));
    }
    read();
  }, [pids.join()]);
  useEffect(() => () => links.current.forEach((link) => link.close()), []);
  return totals;
}
