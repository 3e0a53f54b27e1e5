/*
 * A watched process, for components.
 */
import { useEffect, useState } from "preact/hooks";

import { WatchLink } from "./watch_link.ts";

/* null for a moment at first; the component is drawn again at each update. */
export function useWatch(pid: number, intervalMs: number): WatchLink | null {
  const [, setCount] = useState(0);
  const [link, setLink] = useState<WatchLink | null>(null);
  useEffect(() => {
    const made = new WatchLink(pid, intervalMs, () => setCount((count) => count + 1));
    setLink(made);
    return () => made.close();
  }, [pid, intervalMs]);
  return link;
}
