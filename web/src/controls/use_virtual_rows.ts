/*
 * Which rows of a long list are visible, by virtual-core: only those are elements of the page.
 */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

interface Options {
  count: number;
  rowHeight: number;
  /* What stands above the first row in the element that scrolls, and stays there. */
  headHeight: number;
  element: { current: HTMLElement | null };
}

/* On paper the element is as high as all its rows: that must not make all of them elements. */
const observeOnScreen: typeof observeElementRect = (rows, report) =>
  observeElementRect(rows, (rect) => {
    if (!matchMedia("print").matches) report(rect);
  });

export function useVirtualRows({ count, rowHeight, headHeight, element }: Options) {
  const [, draw] = useReducer<number, void>((n) => n + 1, 0);
  const options = {
    count,
    getScrollElement: () => element.current,
    estimateSize: () => rowHeight,
    scrollMargin: headHeight,
    scrollPaddingStart: headHeight,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect: observeOnScreen,
    observeElementOffset,
    onChange: () => draw(),
  };
  const [rows] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  rows.setOptions(options);
  useLayoutEffect(() => rows._didMount(), []);
  useLayoutEffect(() => rows._willUpdate());
  return rows;
}
