/*
 * Whether the page is being printed: a component can then draw all that it keeps off the screen.
 * Browsers lay out the paper as soon as the handlers of "beforeprint" and the microtasks behind
 * them are done, which is when Preact draws.
 */
import { useEffect, useState } from "preact/hooks";

const PRINT = "print";

export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(() => matchMedia(PRINT).matches);
  useEffect(() => {
    const query = matchMedia(PRINT);
    const begin = () => setPrinting(true);
    const end = () => setPrinting(false);
    const change = () => setPrinting(query.matches);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    query.addEventListener("change", change);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
      query.removeEventListener("change", change);
    };
  }, []);
  return isPrinting;
}
