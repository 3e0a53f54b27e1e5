/* health/touched.ts: what a warning touches is said in words, not in the names of the document. */
import { expect, it } from "vitest";

import { touchedWords } from "../src/health/touched.ts";

const OF_ALLOCATIONS = ["space", "objects", "alloc_space", "alloc_objects", "peak"];

it.each([
  [[], "No figure is uncertain because of this."],
  [["names"], "Uncertain because of this: names of functions, and figures by function."],
  [["peak", "leaks"], "Uncertain because of this: the peak; leaks."],
  [
    [...OF_ALLOCATIONS, "leaks", "threads"],
    "Uncertain because of this: all sizes and numbers of objects; leaks; figures by thread.",
  ],
  [["of_a_newer_version"], "Uncertain because of this: of_a_newer_version."],
])("%s", (views, words) => expect(touchedWords(views)).toBe(words));
