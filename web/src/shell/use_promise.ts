/*
 * The result of a promise in a component: null while it is pending.
 */
import { useEffect, useState } from "preact/hooks";

export interface Settled<T> {
  value: T | null;
  error: unknown;
  isPending: boolean;
}

/*
 * Calls `make` when one of `keys` changed, and draws the component again when the promise is
 * settled. While a new promise is pending, the value of the last one stays, so that the picture
 * does not flicker. A promise that was overtaken by another one is ignored.
 */
export function usePromise<T>(make: () => Promise<T>, keys: readonly unknown[]): Settled<T> {
  const [settled, setSettled] = useState<Settled<T>>({
    value: null,
    error: null,
    isPending: true,
  });
  useEffect(() => {
    let isCurrent = true;
    setSettled((before) => (before.isPending ? before : { ...before, isPending: true }));
    make().then(
      (value) => isCurrent && setSettled({ value, error: null, isPending: false }),
      (error: unknown) => isCurrent && setSettled({ value: null, error, isPending: false }),
    );
    return () => void (isCurrent = false);
  }, keys);
  return settled;
}
