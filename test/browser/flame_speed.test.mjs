/*
 * How fast the flame graph is with 100,000 stacks: the first picture within a second, zoom and
 * search within 100 ms.
 *
 * What counts is the CPU time of the page's main thread: how long a reader waits on a machine that
 * does nothing else, whatever else this one does.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { newPage, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

async function cpuClock(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
}

test("first picture, zoom, search; smaller frames are one box", async () => {
  const page = await newPage();
  const clock = await cpuClock(page);
  const timed = async (name, most, act) => {
    const start = await clock();
    await act();
    const spent = (await clock()) - start;
    console.log(`${name}: ${spent.toFixed(0)} ms`);
    assert.ok(spent > 1, `${name}: the clock stands`);
    assert.ok(spent <= most, `${name} takes ${spent.toFixed(0)} ms`);
  };
  const go = async (fragment) => {
    await page.evaluate(async (hash) => {
      location.hash = hash;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }, fragment);
  };
  await timed("first picture", 1000, async () => {
    await page.goto(`${pathToFileURL(process.env.HEAPSCOPE_PAGE).href}#view=flame`);
    await page.waitForSelector(".graph-canvas");
  });
  const stacks = await page.textContent(".graph-list p");
  assert.match(stacks, /MiB/);
  await page.focus(".graph-scroll");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  await timed("zoom", 100, () => page.keyboard.press("Enter"));
  assert.match(await page.evaluate(() => location.hash), /flame\.zoom=/);
  await timed("zoom out", 100, () => page.keyboard.press("Escape"));
  await timed("search for text", 100, () => go("#view=flame&flame.search=function_12"));
  assert.match(await page.textContent(".controls-search [role=status]"), /functions, /);
  await timed("search for a regular expression", 100, () =>
    go("#view=flame&flame.search=%2Fspace_1.*7%5C(%2F"),
  );
  await go("#view=flame");
  await page.focus(".graph-scroll");
  const told = [];
  for (let row = 0; row < 12; row++) {
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("End");
    told.push(await page.textContent("[role=status].hidden-but-read"));
    await page.keyboard.press("Home");
  }
  const merged = told.find((text) => text.includes("smaller frames"));
  assert.match(merged ?? told.join("; "), /^[\d,]+ smaller frames\. Total .*B, /);
  await page.context().close();
});
