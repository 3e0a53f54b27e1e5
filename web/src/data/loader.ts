/*
 * Reads something once and keeps it, so that each view that asks for it gets the same promise. The
 * ones that were not used for longest are dropped when there are too many.
 */
export interface Loader<Key, Value> {
  (key: Key): Promise<Value>;
  /* What was read, if it is there already. */
  ready(key: Key): { value: Value } | null;
}

export function makeLoader<Key, Value>(
  keptMax: number,
  read: (key: Key) => Promise<Value>,
): Loader<Key, Value> {
  const kept = new Map<Key, { promise: Promise<Value>; done: { value: Value } | null }>();
  const loader = (key: Key): Promise<Value> => {
    let entry = kept.get(key);
    if (entry) {
      kept.delete(key); // it moves to the end: used last
    } else {
      const made = { promise: read(key), done: null as { value: Value } | null };
      made.promise.then(
        (value) => (made.done = { value }),
        () => kept.delete(key), // the next one who asks tries again
      );
      entry = made;
    }
    kept.set(key, entry);
    for (const oldest of kept.keys()) {
      if (kept.size <= keptMax) break;
      kept.delete(oldest);
    }
    return entry.promise;
  };
  loader.ready = (key: Key) => kept.get(key)?.done ?? null;
  return loader;
}
