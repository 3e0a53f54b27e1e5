/*
 * How fast the difference of two snapshots with 100,000 stacks each, and their timeline, are: the
 * first picture within a second, choices and searches of functions within 100 ms.
 *
 * What counts is the CPU time of the page's main thread, as in flame_speed.test.mjs.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { newPage, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

async function opened() {
  const page = await newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const clock = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
  const timed = async (name, most, act) => {
    const start = await clock();
    await act();
    const spent = (await clock()) - start;
    console.log(`${name}: ${spent.toFixed(0)} ms`);
    assert.ok(spent > 1, `${name}: the clock stands`);
    assert.ok(spent <= most, `${name} takes ${spent.toFixed(0)} ms`);
  };
  const go = (fragment) =>
    page.evaluate(async (hash) => {
      location.hash = hash;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }, fragment);
  const first = async (fragment, selector) => {
    await page.goto(pathToFileURL(process.env.HEAPSCOPE_PAGE).href + fragment);
    await page.waitForSelector(selector);
  };
  return { page, timed, go, first };
}

test("the timeline", async () => {
  const { page, timed, first } = await opened();
  await timed("first picture", 1000, () => first("#view=timeline", ".timeline-diamond"));
  await timed("zoom", 100, () => page.click("button[aria-label='Zoom in']"));
  await page.context().close();
});

test("the difference", async () => {
  const { page, timed, go, first } = await opened();
  await timed("first picture", 1000, () => first("#view=diff", ".change-words"));
  assert.match(await page.textContent(".change-words"), /grew by/);
  await timed("search for functions", 100, () => go("#view=diff&diff.search=function_12"));
  assert.match(await page.textContent(".controls-search [role=status]"), /rows/);
  await timed("only what shrank", 100, () => go("#view=diff&diff.show=shrank"));
  await timed("stacks", 500, () => go("#view=diff&diff.table=stacks"));
  await timed("search for stacks", 100, () =>
    go("#view=diff&diff.table=stacks&diff.search=function_12"),
  );
  await page.context().close();
});
