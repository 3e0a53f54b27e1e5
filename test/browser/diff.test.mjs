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
  /* The rows are there a moment after the grid, which finds out how many are seen. */
  await it.page.waitForSelector(".diff-function, .graph-canvas");
  const params = () =>
    it.page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  return { page: it.page, it, params, problems: it.problems, close: () => it.close() };
}

const rows = (page) =>
  page.$$eval("[role=grid] .controls-grid-body [role=row]", (all) =>
    all.map((row) => row.innerText.replace(/\s+/g, " ").trim()),
  );
const names = (page) =>
  page.$$eval(".diff-function > .name", (all) => all.map((each) => each.textContent));

test("says what changed, with margins", async () => {
  const { page, close, problems } = await opened();
  const words = await page.textContent(".change-words");
  assert.match(words, /^Live memory grew by 57\.8 MiB \(.*\), from 38\.5 MiB to 96\.3 MiB\./);
  assert.match(words, /What grew: dictExpand \+17\.4 MiB, .* other functions\./);
  assert.match(await page.textContent(".change-figures"), /Before: snapshot 1.*After: at the end/);
  assert.deepEqual(problems, []);
  await close();
});

test("the largest change stands first, with sign, verdict and interval", async () => {
  const { page, close } = await opened();
  const [first] = await rows(page);
  assert.match(first, /^dictExpand ▲ \+17\.4 MiB ± 804 KiB grew 11\.6 MiB 29\.0 MiB$/);
  const bar = page.locator(".change-bar").first();
  assert.match(await bar.getAttribute("class"), /change-bar-grew/);
  await close();
});

test("both sides can be exchanged: what grew shrinks", async () => {
  const { page, params, close } = await opened();
  await page.click("button[aria-label='Exchange before and after']");
  assert.match(await page.textContent(".change-words"), /Live memory shrank by 57\.8 MiB/);
  const { "diff.before": early, "diff.after": late } = await params();
  assert.deepEqual([early, late], ["2", "0"]);
  assert.match((await rows(page))[0], /▼ −17\.4 MiB .* shrank/);
  const colour = await page.$eval(".change-bar", (bar) => getComputedStyle(bar).backgroundColor);
  assert.equal(colour, "rgb(33, 102, 172)");
  await page.goBack();
  await page.waitForFunction(() =>
    /grew/.test(document.querySelector(".change-words").textContent),
  );
  await close();
});

test("snapshots and measures can be chosen", async () => {
  const { page, it, params, close } = await opened();
  await page.selectOption("label:has-text('Before') select", "1");
  await it.settle();
  assert.match(await page.textContent(".change-words"), /from 77\.0 MiB to 96\.3 MiB/);
  await page.selectOption("label:has-text('Show') select", "alloc_objects");
  await it.settle();
  assert.match(await page.textContent(".change-words"), /^Allocations grew by/);
  assert.equal((await params()).measure, "alloc_objects");
  await close();
});

test("what is equal on both sides is no change", async () => {
  const { page, close } = await opened("&diff.before=1&diff.after=1");
  assert.match(await page.textContent(".change-words"), /77\.0 MiB on both sides/);
  assert.match((await rows(page))[0], /= 0 B .*no change/);
  await close();
});

test("verdicts, search and order narrow the table", async () => {
  const { page, params, close } = await opened();
  const all = (await rows(page)).length;
  await page.click("button:has-text('Grew')");
  await page.waitForFunction(
    (most) => document.querySelectorAll(".diff-function").length < most,
    all,
  );
  assert.equal((await params())["diff.show"], "shrank,noise");
  await page.click("button:has-text('Grew')");
  await page.fill("input[aria-label='Search functions']", "dict");
  await page.waitForFunction(() => document.querySelectorAll(".diff-function").length === 1);
  await page.fill("input[aria-label='Search functions']", "");
  await page.waitForFunction(() => document.querySelectorAll(".diff-function").length > 2);
  await page.click("[role=columnheader] button:has-text('Function')");
  assert.equal((await params())["diff.sort"], "name");
  const list = await names(page);
  assert.ok(list.length > 2);
  assert.deepEqual(
    list,
    [...list].sort((x, y) => x.localeCompare(y)),
  );
  await close();
});

test("a row opens what is known of it, by mouse and by keyboard", async () => {
  const { page, params, close, problems } = await opened();
  await page.click(".diff-function >> nth=0");
  const panel = "aside[aria-label=Function]";
  assert.match(await page.textContent(panel), /dictExpand.*95 % interval.*\+16\.\d MiB to/s);
  assert.match(await page.getAttribute(`${panel} a`, "href"), /flame\.search=dictExpand/);
  await page.focus("[role=grid]");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.textContent(`${panel} .row-panel-name > bdi`), (await names(page))[1]);
  await page.click(`${panel} button:has-text('Close')`);
  assert.equal((await params())["diff.row"], undefined);
  assert.deepEqual(problems, []);
  await close();
});

test("stacks show their callers", async () => {
  const { page, close } = await opened();
  await page.click("button:has-text('Stacks')");
  const first = ".diff-function >> nth=0";
  assert.match(
    await page.textContent(first),
    /dictExpand ← setCommand ← processCommand ← aeMain ← …/,
  );
  await page.click(first);
  const frames = await page.$$eval("aside[aria-label=Stack] li", (all) =>
    all.map((li) => li.textContent),
  );
  assert.deepEqual(frames.slice(-5), [
    "dictExpand",
    "setCommand",
    "processCommand",
    "aeMain",
    "main",
  ]);
  await close();
});

test("the flame graph has the colours of changes", async () => {
  const { page, params, close, problems } = await opened("&diff.table=flame");
  await page.waitForSelector(".graph-canvas");
  assert.match(await page.textContent(".change-card .graph"), /grew/);
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
  assert.match(await page.textContent(".change-words"), /from 11\.6 MiB to 29\.0 MiB/);
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
    await it.page.textContent(".change-words"),
    /What grows over 3 snapshots.*dictExpand/,
  );
  assert.match(await it.page.textContent(".change-figures"), /grows.*4\.60 MiB a second/);
  const resident = it.page.locator(".change-words >> nth=1");
  assert.match(await resident.textContent(), /last snapshot shows whose blocks were added\.$/);
  assert.match(
    await resident.locator("a").getAttribute("href"),
    /view=diff&diff\.before=0&diff\.after=2/,
  );
  const first = await it.page.$eval("[role=grid] .controls-grid-body [role=row]", (row) =>
    row.innerText.replace(/\s+/g, " "),
  );
  assert.match(first, /dictExpand ▲ \+1\.38 MiB .*grows .* 2 up 91\.0 %/);
  await it.page.click("button:has-text('Stacks')");
  await it.page.click(".trend-name >> nth=0");
  const frames = await it.page.$$eval("aside[aria-label=Stack] li", (all) => all.length);
  assert.equal(frames, 5);
  await it.page.fill("input[aria-label='Search functions']", "nobody");
  await it.page.waitForSelector("text=No row is like this.");
  assert.deepEqual(it.problems, []);
  await it.close();
});
