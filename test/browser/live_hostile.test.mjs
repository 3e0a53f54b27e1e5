/*
 * The live page, of a program whose names attack it: names are text, and no script of theirs runs.
 *
 * HEAPSCOPE_LINK is the address that the server printed, HEAPSCOPE_HOSTILE the pid of the program
 * (test/e2e/test_ui_hostile.py).
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { DESKTOP, openServed, PHONE, startBrowser, stopBrowser } from "./page.mjs";

const { HEAPSCOPE_LINK: LINK, HEAPSCOPE_HOSTILE: PID } = process.env;
/* These would end what other tests of this file watch, or leave the view. */
const NOT_PRESSED = /Stop|Snapshot|Open this moment|All processes|Record|Auto/;

before(startBrowser);
after(stopBrowser);

async function check(opened, what) {
  const { page } = opened;
  assert.equal(await page.evaluate(() => window.hostile), undefined, what);
  const markup = await page.evaluate(() => {
    const found = [
      ...document.querySelectorAll("main img, main svg [onload], main script, main b b"),
    ];
    const handlers = [...document.querySelectorAll("main *")].filter((element) =>
      [...element.attributes].some(({ name }) => /^on/.test(name)),
    );
    return [...found, ...handlers].map((element) => element.outerHTML.slice(0, 100));
  });
  assert.deepEqual(markup, [], what);
  /* Control characters and marks that turn the direction of text are made visible. */
  const hidden = await page.evaluate(() =>
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.exec(
      document.querySelector("main").textContent,
    ),
  );
  assert.equal(hidden, null, what);
  assert.deepEqual(await opened.overflowing(), [], what);
  assert.deepEqual(opened.problems, [], what);
}

async function pressAll(opened, what) {
  const { page } = opened;
  const count = await page.locator("main button").count();
  for (let i = 0; i < Math.min(count, 60); i++) {
    const button = page.locator("main button").nth(i);
    if (!(await button.isVisible().catch(() => false)) || !(await button.isEnabled())) continue;
    if (NOT_PRESSED.test(await button.textContent())) continue;
    await button.click({ timeout: 2000 }).catch(() => {});
    await check(opened, `${what}, button ${i}`);
  }
}

for (const [device, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  test(`names are text on the live page, on a ${device}`, async () => {
    const opened = await openServed(LINK, { fragment: `#view=live&live.filter=${PID}`, size });
    const { page } = opened;
    await page.locator("tbody tr").filter({ hasText: PID }).first().waitFor();
    assert.match(await page.textContent("tbody"), /<i>hostile|<b>/);
    await check(opened, "the list");
    await opened.shot(`live-hostile-list-${device}`);
    if (device === "desktop") {
      await page.locator("tbody tr").filter({ hasText: PID }).locator("button").first().click();
      await page.fill("#live-setting-interval", "64");
      await check(opened, "the settings");
      await page.keyboard.press("Enter");
    } else {
      await opened.go(`#view=live&live.pid=${PID}`);
    }
    await page.waitForFunction(() => document.querySelectorAll(".live-top tbody tr").length > 5);
    for (const name of [
      "<script>window.hostile=1</script>",
      "<img src=x onerror=",
      "${window.hostile=1}",
    ]) {
      await page.locator(".live-top tbody tr").filter({ hasText: name }).first().waitFor();
    }
    const longest = await page.$$eval(".live-top tbody th", (all) =>
      Math.max(...all.map((cell) => cell.textContent.length)),
    );
    assert.ok(longest < 400, `a name of ${longest} characters is shown whole`);
    for (const kind of ["functions", "stacks", "types"]) {
      await opened.go(`#view=live&live.pid=${PID}&live.kind=${kind}`);
      await page.waitForSelector(".live-top tbody tr");
      await check(opened, kind);
      await pressAll(opened, kind);
      await opened.shot(`live-hostile-${kind}-${device}`);
    }
    await opened.go(`#view=live&live.pid=${PID}&live.search=${encodeURIComponent("<img")}`);
    await page.waitForSelector(".live-top tbody tr");
    await check(opened, "a search");
    /* And the list, which names it in its recording. */
    await opened.go("#view=live");
    await page.waitForSelector(".live-card button");
    await check(opened, "the recordings");
    await opened.close();
  });
}
