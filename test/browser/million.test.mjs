/*
 * Tables of a million stacks (test/e2e/page_large.py): the memory is bounded, and a filter shows
 * how far it is and can be cancelled.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newPage, startBrowser, stopBrowser } from "./page.mjs";
import { pathToFileURL } from "node:url";

before(startBrowser);
after(stopBrowser);

const ALL = "1.00 M of 1.00 M rows";
const MOST_MEMORY = 500e6;

/* How many rows the table has, in its words, when it has been added up. */
async function rowWords(page) {
  const words = await page.waitForFunction(() => {
    const isThere = document.querySelector("[role=row][aria-rowindex='2']") !== null;
    const text = document.querySelector("[role=status]")?.textContent ?? "";
    return isThere && !document.querySelector(".loading") && / of .* row/.test(text) && text;
  });
  return words.jsonValue();
}

test("a million stacks: memory, filters, cancelling", { timeout: 260_000 }, async () => {
  const page = await newPage();
  page.setDefaultTimeout(120_000);
  const session = await page.context().newCDPSession(page);
  const memory = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize } = await session.send("Runtime.getHeapUsage");
    assert.ok(backingStorageSize > 10e6, "arrays are counted");
    return usedSize + backingStorageSize;
  };
  const go = (fragment) =>
    page.evaluate(async (hash) => {
      location.hash = hash;
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }, fragment);
  await page.goto(`${pathToFileURL(process.env.HEAPSCOPE_PAGE).href}#view=table`);
  await rowWords(page);
  await go("#view=table&table.kind=stacks");
  assert.equal(await rowWords(page), ALL);
  const before = await memory();
  await page.evaluate(() => {
    window.mostProgress = 0;
    new MutationObserver(() => {
      const { value = 0 } = document.querySelector(".table-progress progress") ?? {};
      window.mostProgress = Math.max(window.mostProgress, value);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  for (const kind of ["show-stack", "hide-stack", "from-frame", "hide-frame", "pivot"]) {
    await go(`#view=table&table.kind=stacks&filter=${kind}:function_12`);
    const words = await rowWords(page);
    assert.ok((await page.evaluate("window.mostProgress")) >= 3, "there is progress");
    assert.match(words, /^[\d,.]+( k)? of /, `${kind}: ${words}`);
    assert.notEqual(words, ALL, kind);
  }
  const afterwards = await memory();
  console.log(`# memory: ${Math.round(before / 1e6)} and ${Math.round(afterwards / 1e6)} MB`);
  assert.ok(afterwards <= MOST_MEMORY, `the page has ${Math.round(afterwards / 1e6)} MB`);
  await go("#view=table&table.kind=stacks");
  assert.equal(await rowWords(page), ALL);
  /* The click comes with the first sign of progress, before the page has added up anything. */
  await page.evaluate(() => {
    const look = () => {
      const button = document.querySelector(".table-progress button");
      if (button) button.click();
      else setTimeout(look, 1);
    };
    look();
    location.hash = "#view=table&table.kind=stacks&filter=show-stack:function_12";
  });
  await page.waitForFunction(() => !location.hash.includes("filter"));
  assert.equal(await rowWords(page), ALL);
  await page.context().close();
});
