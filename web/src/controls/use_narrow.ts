/*
 * Whether the window is as narrow as a phone's.
 */
import { useEffect, useState } from "preact/hooks";

const NARROW = "(max-width: 600px)";

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const listener = () => setNarrow(query.matches);
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  }, []);
  return isNarrow;
}
