/*
 * Whether a media query of CSS holds, now and after each change.
 */
import { useEffect, useState } from "preact/hooks";

export function useMedia(query: string): boolean {
  const [isTrue, setTrue] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const listener = () => setTrue(list.matches);
    list.addEventListener("change", listener);
    return () => list.removeEventListener("change", listener);
  }, [query]);
  return isTrue;
}
