/*
 * The documents of a page as it lies in a file.
 */
import { fromBase64, parseGzip, type DataSource } from "../../src/data/source.ts";

export function sourceOf(html: string): DataSource {
  return {
    isServed: false,
    load<T>(name: string): Promise<T> {
      const text = new RegExp(`id="heapscope-${name}">([^<]*)<`).exec(html)?.[1];
      if (!text) throw new Error(`no document ${name}`);
      return parseGzip<T>(fromBase64(text));
    },
  };
}
