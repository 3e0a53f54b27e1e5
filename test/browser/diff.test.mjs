/*
 * The difference of two snapshots of the sample (test/e2e/page_sample.py): each stack grows in
 * proportion, from 40 % to 100 % of 96.3 MiB; and the trend of its process.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openPage, PHONE, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

async function opened(fragment = "", options = {}) {
  const it = await openPage({ fragment: `#view=diff${fragment}`, ...options });
  const params = () =>
    it.page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  return { page: it.page, it, params, problems: it.problems, close: () => it.close() };
}

const rows = (page) =>
  page.$$eval(".diff-table:not(.diff-resident) tbody tr", (all) =>
    all.map((row) => row.innerText.replace(/\s+/g, " ").trim()),
  );

test("says what changed, with margins", async () => {
  const { page, close, problems } = await opened();
  const words = await page.textContent(".diff-words");
  assert.match(words, /^Live memory grew by 57\.8 MiB \(.*\), from 38\.5 MiB to 96\.3 MiB\./);
  assert.match(words, /What grew: dictExpand \+17\.4 MiB, .* other functions\./);
  assert.match(await page.textContent(".diff-figures"), /Before: snapshot 1.*After: at the end/);
  assert.deepEqual(problems, []);
  await close();
});

test("the largest change stands first, with sign, verdict and interval", async () => {
  const { page, close } = await opened();
  const [first] = await rows(page);
  assert.match(first, /▲ \+17\.4 MiB ± 804 KiB grew 11\.6 MiB 29\.0 MiB dictExpand/);
  const bar = page.locator(".diff-bar").first();
  assert.match(await bar.getAttribute("class"), /diff-bar-grew/);
  await close();
});

test("both sides can be exchanged: what grew shrinks", async () => {
  const { page, params, close } = await opened();
  await page.click("button[aria-label='Exchange before and after']");
  assert.match(await page.textContent(".diff-words"), /Live memory shrank by 57\.8 MiB/);
  const { "diff.before": early, "diff.after": late } = await params();
  assert.deepEqual([early, late], ["2", "0"]);
  assert.match((await rows(page))[0], /▼ −17\.4 MiB .* shrank/);
  const colour = await page.$eval(".diff-bar", (bar) => getComputedStyle(bar).backgroundColor);
  assert.equal(colour, "rgb(33, 102, 172)");
  await page.goBack();
  await page.waitForFunction(() => /grew/.test(document.querySelector(".diff-words").textContent));
  await close();
});

test("snapshots and measures can be chosen", async () => {
  const { page, it, params, close } = await opened();
  await page.selectOption("label:has-text('Before') select", "1");
  await it.settle();
  assert.match(await page.textContent(".diff-words"), /from 77\.0 MiB to 96\.3 MiB/);
  await page.selectOption("label:has-text('Show') select", "alloc_objects");
  await it.settle();
  assert.match(await page.textContent(".diff-words"), /^Allocations grew by/);
  assert.equal((await params()).measure, "alloc_objects");
  await close();
});

test("what is equal on both sides is no change", async () => {
  const { page, close } = await opened("&diff.before=1&diff.after=1");
  assert.match(await page.textContent(".diff-words"), /77\.0 MiB on both sides/);
  assert.match((await rows(page))[0], /= 0 B .*no change/);
  await close();
});

test("verdicts, search and order narrow the table", async () => {
  const { page, params, close } = await opened();
  const all = (await rows(page)).length;
  await page.click("button:has-text('Grew')");
  const others = (await rows(page)).length;
  assert.ok(others < all, `${others} of ${all}`);
  assert.equal((await params())["diff.show"], "shrank,noise");
  await page.click("button:has-text('Grew')");
  await page.fill("input[aria-label='Search functions']", "dict");
  await page.waitForFunction(() => document.querySelectorAll(".diff-function").length === 1);
  await page.fill("input[aria-label='Search functions']", "");
  await page.click(".diff-table >> text=Function");
  assert.equal((await params())["diff.sort"], "name");
  const names = await page.$$eval(".diff-function .name", (each) => each.map((n) => n.textContent));
  assert.deepEqual(
    names,
    [...names].sort((a, b) => a.localeCompare(b)),
  );
  await close();
});

test("stacks show their callers", async () => {
  const { page, close } = await opened();
  await page.click("button:has-text('Stacks')");
  await page.click(".diff-frames summary >> nth=0");
  const frames = await page.$$eval(".diff-frames[open] li", (all) => all.map((li) => li.innerText));
  assert.deepEqual(frames, ["setCommand", "processCommand", "aeMain", "main"]);
  await close();
});

test("the flame graph has the colours of changes", async () => {
  const { page, params, close, problems } = await opened("&diff.table=flame");
  await page.waitForSelector(".graph-canvas");
  assert.match(await page.textContent(".diff-card .graph"), /grew/);
  await page.focus(".graph-scroll");
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.ok((await params())["diff.zoom"] !== undefined);
  await page.click("text=Open as a view");
  const now = await params();
  assert.deepEqual([now.view, now.snapshot, now["flame.base"]], ["flame", "2", "0"]);
  assert.deepEqual(problems, []);
  await close();
});

test("filters of stacks hold here, too", async () => {
  const { page, close } = await opened("&filter=show-stack%3AdictExpand");
  assert.match(await page.textContent(".diff-words"), /from 11\.6 MiB to 29\.0 MiB/);
  await close();
});

test("the table can be saved", async () => {
  const { page, close } = await opened();
  await page.click("summary:has-text('Save as')");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=CSV")]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const [head, first] = Buffer.concat(chunks).toString("utf8").split("\r\n");
  assert.equal(head, "change,low,high,verdict,before,after,function,module,stack");
  assert.match(first, /^182\d{5}.*,grew,.*,dictExpand,redis-server,$/);
  await close();
});

test("on a phone the names are seen", async () => {
  const { page, close } = await opened("", { size: PHONE });
  const box = await page.locator(".diff-function").first().boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  await close();
});

test("the trend says what grows", async () => {
  const it = await openPage({ fragment: "#view=trend" });
  assert.match(
    await it.page.textContent(".trend-words"),
    /What grows over 3 snapshots.*dictExpand/,
  );
  assert.match(await it.page.textContent(".trend-figures"), /grows.*4\.60 MiB a second/);
  const first = await it.page.$eval(".trend-table tbody tr", (row) => row.innerText);
  assert.match(first.replace(/\s+/g, " "), /dictExpand ▲ ?grows \+1\.38 MiB .* 2 up 91\.0 %/);
  await it.page.click("button:has-text('Stacks')");
  assert.match(await it.page.textContent(".trend-frames summary"), /called by 4 functions/);
  assert.deepEqual(it.problems, []);
  await it.close();
});
