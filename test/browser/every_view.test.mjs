/*
 * What holds for every view, in light and dark, on a desktop and on a phone: nothing on the
 * console, no request, no violation of level AA that axe-core finds, nothing sticks out. Views that
 * are added to web/src/views.ts are tried without a change here.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { LOOKS, openPage, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

for (const { device, size, theme } of LOOKS) {
  test(`each view, ${device}, ${theme}`, async () => {
    const opened = await openPage({ size, theme });
    const views = await opened.views();
    assert.ok(views.length >= 1, "the page has no view");
    for (const view of views) {
      await opened.go(view ? `#view=${view}` : "#");
      const name = view || "overview";
      await opened.shot(`${name}-${device}-${theme}`);
      assert.deepEqual(await opened.violations(), [], name);
      assert.deepEqual(await opened.overflowing(), [], name);
      assert.equal(await opened.page.$(".shell-failure"), null, `${name} failed`);
    }
    assert.deepEqual(opened.problems, []);
    await opened.close();
  });
}
