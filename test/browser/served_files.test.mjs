/*
 * `heapscope ui FILE FILE`: the views of the files of the command line, of all of them and of each.
 *
 * HEAPSCOPE_LINK is the address that the server printed. Downloads go to HEAPSCOPE_SAVED.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { DESKTOP, openServed, PHONE, startBrowser, stopBrowser } from "./page.mjs";

const LINK = process.env.HEAPSCOPE_LINK;

before(startBrowser);
after(stopBrowser);

for (const [device, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  for (const theme of ["light", "dark"]) {
    test(`each view of a file of the server, ${device}, ${theme}`, async () => {
      const opened = await openServed(LINK, { size, theme, fragment: "#file=1" });
      const views = (await opened.views()).filter((view) => view !== "live");
      for (const view of views) {
        await opened.go(view ? `#view=${view}&file=1` : "#file=1");
        await opened.shot(`served-${view || "overview"}-${device}-${theme}`);
        assert.deepEqual(await opened.violations(), [], view);
        assert.deepEqual(await opened.overflowing(), [], view);
        assert.equal(await opened.page.$(".shell-failure"), null, `${view} failed`);
      }
      assert.deepEqual(opened.problems, []);
      await opened.close();
    });
  }
}

test("files are chosen, and saved", async () => {
  const opened = await openServed(LINK);
  const { page } = opened;
  /* Both files at first. */
  assert.match(await page.textContent("main"), /one\.pftrace/);
  assert.match(await page.textContent("main"), /two\.pftrace/);
  assert.equal(await page.$("text=Save the trace"), null);
  await page.selectOption(".shell-files select >> nth=1", { value: "" });
  await page.waitForSelector("text=Save the trace");
  await page.selectOption(".shell-files select >> nth=0", { value: "1" });
  await page.waitForFunction(() => /file=1/.test(location.hash));
  await page.waitForSelector("text=Save the trace");
  await opened.settle();
  assert.match(page.url(), /file=1/);
  const second = await page.textContent(".overview-figures");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click("text=Save the trace"),
  ]);
  assert.equal(download.suggestedFilename(), "two.pftrace");
  await download.saveAs(join(process.env.HEAPSCOPE_SAVED, "saved.pftrace"));
  /* Back restores the choices before. */
  await page.goBack();
  await page.waitForFunction(() => /file=0/.test(location.hash));
  await opened.settle();
  assert.equal(await page.inputValue(".shell-files select >> nth=0"), "0");
  assert.notEqual(await page.textContent(".overview-figures"), second);
  await page.goBack();
  await page.waitForSelector("main >> text=one.pftrace");
  /* The view of what runs is one of the views. */
  await page.click("nav a:has-text('Live')");
  await page.waitForSelector(".live-lists");
  await page.click("nav a:has-text('Overview')");
  await page.waitForSelector(".overview-grid");
  assert.deepEqual(opened.problems, []);
  await opened.close();
});

test("a file that is not there is said", async () => {
  const opened = await openServed(LINK, { fragment: "#file=9" });
  assert.match(await opened.page.textContent(".shell-failure"), /There is no such file\./);
  await opened.page.selectOption(".shell-files select >> nth=0", { value: "0" });
  await opened.page.waitForSelector(".overview-grid");
  await opened.close();
});
