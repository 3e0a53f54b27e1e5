/*
 * How hostile names are shown (test/e2e/page_hostile.py): as they are spelled, with control
 * characters as symbols, and cut to a length.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openPage, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

test("hostile names are shown as they are spelled", async () => {
  const opened = await openPage({ fragment: "#view=table" });
  for (const [search, expected] of [
    ["<script", "<script>window.hostile=1</script>"],
    ["<img", "<img src=x onerror='window.hostile=1'>"],
    ["evil", "⟨U+202E⟩evil⟨U+202C⟩"],
    ["31m", "␛[31m"],
    ["HYPERLINK", '=HYPERLINK("http://x")'],
    ["&lt", "&lt;b&gt;&amp;"],
  ]) {
    const fragment = `#view=table&table.search=${encodeURIComponent(search)}`;
    await opened.go(fragment);
    const text = await opened.page.textContent("[role=grid] .table-name bdi");
    assert.ok(text.includes(expected), `${expected} in ${text}`);
    assert.ok(text.length <= 160, `${search}: ${text.length} characters`);
    assert.doesNotMatch(text, /[\u0000\u001b\u202e\u2066]/);
  }
  await opened.close();
});
