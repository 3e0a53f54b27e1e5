/* health/known.ts: a file that records no losses does not say that there were none. */
import { expect, it } from "vitest";

import { lossText, noCutText } from "../src/health/known.ts";

it.each([
  [0, true, "No loss was counted."],
  [3, true, null],
  [0, false, "What was lost was not recorded."],
  [3, false, "What was lost was not recorded."],
  [null, true, "What was lost was not recorded."],
])("%s losses, known: %s", (count, isKnown, text) => expect(lossText(count, isKnown)).toBe(text));

it("says of cut stacks whether they are known", () => {
  expect(noCutText(true)).toMatch(/^None/);
  expect(noCutText(false)).toBe("Which stacks were cut was not recorded.");
});
