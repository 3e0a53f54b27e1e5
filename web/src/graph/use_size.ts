/*
 * The width of the graph's element in whole pixels, as it is now and when it changes. And how far
 * it is from the top of the page, as the variable --graph-top: the graph takes what is left below.
 */
import { useLayoutEffect, useState } from "preact/hooks";

export function useSize(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const read = () => {
      const top = Math.round(target.getBoundingClientRect().top + window.scrollY);
      target.style.setProperty("--graph-top", `${top}px`);
      setWidth(Math.floor(target.clientWidth));
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(target);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  return width;
}
