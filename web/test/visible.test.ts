/* data/visible.ts: no text of a document hides anything. */
import { expect, it } from "vitest";

import { makeVisible, visible } from "../src/data/visible.ts";

it.each([
  ["main", "main"],
  ["\u001b[31m\u0007\u0000\n", "␛[31m␇␀␊"],
  ["a\u007fb\u0085", "a␡b⟨U+0085⟩"],
  ["\u202eevil\u202c", "⟨U+202E⟩evil⟨U+202C⟩"],
  ["שלום", "שלום"],
  ["<script>&amp;", "<script>&amp;"],
])("%j", (text, shown) => expect(visible(text)).toBe(shown));

it("changes all texts of a document, and nothing else", () => {
  const document = {
    strings: ["", "a\u0001"],
    list: [{ name: "b\u0002", none: null, is: true, column: [1, 2], one: 3 }],
  };
  expect(makeVisible(document)).toEqual({
    strings: ["", "a␁"],
    list: [{ name: "b␂", none: null, is: true, column: [1, 2], one: 3 }],
  });
});
