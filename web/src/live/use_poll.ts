/*
 * Asks again and again while the page is seen: nothing is asked while its tab is hidden.
 */
import { useEffect, useRef, useState } from "preact/hooks";

/* Calls `change` when the tab is shown or hidden; returns a function that ends this. */
export function onVisibility(change: (isVisible: boolean) => void): () => void {
  const listener = () => change(!document.hidden);
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

export interface Polled<T> {
  value: T | null;
  /* Of the last try; the value of an earlier one stays. */
  error: unknown;
  /* Asks now. */
  again: () => void;
}

/* The next question begins `pauseMs` after the last answer. `isOn` false asks nothing. */
export function usePoll<T>(load: () => Promise<T>, pauseMs: number, isOn = true): Polled<T> {
  const [state, setState] = useState<{ value: T | null; error: unknown }>({
    value: null,
    error: null,
  });
  const again = useRef(() => {});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let round = 0;
    const tick = async () => {
      const own = ++round;
      clearTimeout(timer);
      let next: (before: { value: T | null }) => { value: T | null; error: unknown };
      try {
        const value = await load();
        next = () => ({ value, error: null });
      } catch (error) {
        next = (before) => ({ value: before.value, error });
      }
      if (own !== round) return; // it was overtaken, or is over
      setState(next);
      if (!document.hidden) timer = setTimeout(() => void tick(), pauseMs);
    };
    const stop = () => {
      round++;
      clearTimeout(timer);
    };
    again.current = () => void tick();
    if (!isOn) return stop;
    if (!document.hidden) void tick();
    const forget = onVisibility((isVisible) => (isVisible ? void tick() : stop()));
    return () => {
      forget();
      stop();
    };
  }, [isOn, pauseMs]);
  return { ...state, again: () => again.current() };
}
