/*
 * The live page, of a process with 100,000 distinct stacks and 200,000 live samples, of which many
 * are exchanged all the time (bench/watched.c). What counts is the CPU time of the page's thread,
 * so that other work of the machine does not.
 *
 * HEAPSCOPE_LINK is the address that the server printed, HEAPSCOPE_PID that process.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openServed, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

test("100,000 stacks are watched, and switched and searched without waiting", async () => {
  const opened = await openServed(process.env.HEAPSCOPE_LINK, {
    fragment: `#view=live&live.pid=${process.env.HEAPSCOPE_PID}`,
  });
  const { page } = opened;
  await page.waitForSelector(".live-top tbody tr");
  assert.match(await page.textContent(".live-figures"), /\d\d,\d\d\d stacks/);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const metric = async (wanted) =>
    (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === wanted)
      .value;
  /* Updates come meanwhile: while the picture is paused, they are kept and not drawn. */
  await page.waitForFunction(() => /Live/.test(document.querySelector(".live-status").textContent));
  await page.click("button:has-text('Pause')");
  const measured = async (action) => {
    const start = await metric("TaskDuration");
    await action();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    return Math.round(1000 * ((await metric("TaskDuration")) - start));
  };
  const times = {};
  times.stacks = await measured(async () => {
    await page.click("button:text-is('Stacks')");
    await page.waitForSelector(".live-expand");
  });
  times.search = await measured(async () => {
    await page.fill("input[type=search]", "place3");
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".live-expand")].every((all) => /place3/.test(all.textContent)),
    );
  });
  await page.fill("input[type=search]", "");
  times.types = await measured(async () => {
    await page.click("button:text-is('Types')");
    await page.waitForSelector(".live-top thead th:text-is('Type of the blocks')");
  });
  times.functions = await measured(async () => {
    await page.click("button:text-is('Functions')");
    await page.waitForSelector(".live-top thead th:text-is('Function')");
  });
  await page.click("button:has-text('Go on')");
  /* Of ten seconds, how many the page computes; and what it keeps. */
  const before = await metric("TaskDuration");
  await page.waitForTimeout(10000);
  times.share = Math.round(10 * ((await metric("TaskDuration")) - before));
  await session.send("HeapProfiler.collectGarbage");
  /* With the arrays of numbers, which the heap does not contain. */
  const kept = await page.evaluate(() => performance.memory.usedJSHeapSize);
  times.mebibytes = Math.round(kept / 1048576);
  console.log(`# milliseconds, % of a processor, MiB: ${JSON.stringify(times)}`);
  const most = { stacks: 150, search: 100, types: 150, functions: 150, share: 20, mebibytes: 150 };
  for (const [what, limit] of Object.entries(most)) {
    assert.ok(times[what] <= limit, `${what}: ${times[what]}; ${JSON.stringify(times)}`);
  }
  assert.deepEqual(opened.problems, []);
  await opened.close();
});
