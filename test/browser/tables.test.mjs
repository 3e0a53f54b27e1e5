/*
 * Tables, heap details, resident memory, leaks and health: what a reader does in them, with mouse
 * and keyboard. The page is test/e2e/page_rich.py.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { DESKTOP, openPage, PHONE, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

const names = (page) =>
  page.$$eval("[role=grid] [role=row] .table-name .cut > bdi", (all) =>
    all.map((each) => each.textContent),
  );
const hash = (page, key) =>
  page.evaluate((name) => new URLSearchParams(location.hash.slice(1)).get(name), key);
const activeText = (page) => page.textContent("[role=row][aria-selected=true]");

test("a table is sorted by each column, both ways", async () => {
  const { page, close } = await opened("#view=table");
  assert.equal((await names(page))[0], "dictExpand");
  const heads = await page.$$("[role=columnheader] button");
  assert.ok(heads.length >= 6);
  for (const head of heads) {
    await head.click();
    const first = await page.getAttribute("[aria-sort=ascending], [aria-sort=descending]", "title");
    const before = await names(page);
    await head.click();
    assert.notDeepEqual(await names(page), before, `sorted by ${first}`);
  }
  await page.click("[role=columnheader] button >> text=Name");
  const sorted = await names(page);
  assert.deepEqual(sorted, [...sorted].sort());
  assert.match(await hash(page, "table.sort"), /^name:/);
  await close();
});

test("a table is filtered by a regular expression, which stands in the address", async () => {
  const { page, close } = await opened("#view=table");
  await page.fill("input[type=search]", "^(db|dict)");
  await page.waitForFunction(() =>
    /^2 of/.test(document.querySelector("[role=status]").textContent),
  );
  assert.deepEqual((await names(page)).sort(), ["dbAdd", "dictExpand"]);
  assert.equal(await hash(page, "table.search"), "^(db|dict)");
  await page.fill("input[type=search]", "dict(");
  await page.waitForSelector("text=This is no regular expression");
  await close();
});

test("callers and callees lead from function to function, and back", async () => {
  const { page, close } = await opened("#view=table");
  await page.click("[role=row] >> text=dictExpand");
  const panel = "aside[aria-label='Callers and callees']";
  assert.match(await page.textContent(panel), /Called by.*setCommand/s);
  assert.equal(await hash(page, "table.function"), "dictExpand");
  await page.click(`${panel} >> text=setCommand`);
  assert.match(await page.textContent(panel), /Called by.*processCommand.*Calls.*dictExpand/s);
  await page.goBack();
  assert.match(await page.textContent(`${panel} h2`), /dictExpand/);
  await page.reload();
  await page.waitForSelector(panel);
  assert.match(await page.textContent(`${panel} h2`), /dictExpand/);
  await page.click(`${panel} >> text=Only stacks with it`);
  await page.waitForFunction(() => location.hash.includes("filter=show-stack"));
  /* What the function is called by is in its stacks, what else they call is not. */
  assert.deepEqual((await names(page)).sort(), [
    "aeMain",
    "dictExpand",
    "main",
    "processCommand",
    "setCommand",
  ]);
  await close();
});

test("a table is used with the keyboard", async () => {
  const { page, close } = await opened("#view=table");
  await page.focus("[role=grid]");
  await page.keyboard.press("ArrowDown");
  assert.match(await activeText(page), /dictExpand/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForSelector("aside");
  assert.equal(await hash(page, "table.function"), "dictExpand");
  await page.focus("[role=grid]");
  await page.keyboard.press("End");
  await page.waitForFunction(() => {
    const id = document.querySelector("[role=grid]").getAttribute("aria-activedescendant");
    return id && document.getElementById(id)?.ariaRowIndex > 10;
  });
  await close();
});

test("a row of a type narrows what all views show", async () => {
  const { page, close } = await opened("#view=table&table.kind=types");
  await page.click("button[aria-label='Show only Object']");
  assert.equal(await hash(page, "type"), "2");
  assert.equal((await page.$$("[role=rowgroup] ~ [role=rowgroup] [role=row]")).length, 1);
  await close();
});

test("a table is saved as CSV and JSON, with what the filter leaves", async () => {
  const { page, close } = await opened("#view=table&table.search=dict");
  const save = async (format) => {
    await page.click("main summary >> text=Save as");
    const download = page.waitForEvent("download");
    await page.click(`.controls-menu-list >> text=${format}`);
    return readFileSync(await (await download).path(), "utf8");
  };
  const csv = (await save("CSV")).trim().split("\r\n");
  assert.match(csv[0], /^name,of,live_bytes,live_low,live_high,/);
  assert.equal(csv.length, 2);
  assert.match(csv[1], /^dictExpand,redis-server,\d/);
  const [row] = JSON.parse(await save("JSON"));
  assert.equal(row.name, "dictExpand");
  assert.ok(row.live_low < row.live_bytes && row.live_bytes < row.live_high);
  await close();
});

test("heap details are broken down by backtrace and type with the keyboard", async () => {
  const { page, close } = await opened("#view=details&details.mode=tree");
  const tree = "[role=treegrid]";
  const rows = () => page.$$eval(`${tree} [aria-level]`, (all) => all.length);
  await page.focus(tree);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft"); // closes the whole
  assert.equal(await rows(), 1);
  await page.keyboard.press("t");
  assert.match(await page.textContent(tree), /Entry.*Object/s);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("f");
  assert.match(await page.textContent(tree), /Entry.*main/s);
  assert.equal(await page.getAttribute("[aria-selected=true]", "aria-expanded"), "true");
  await page.keyboard.press("ArrowRight");
  assert.match(await activeText(page), /main/);
  await page.keyboard.press("Backspace");
  assert.match(await activeText(page), /Entry/);
  const fragment = await page.evaluate(() => location.hash);
  await page.reload();
  await page.waitForSelector(tree);
  assert.equal(await page.evaluate(() => location.hash), fragment);
  assert.match(await page.textContent(tree), /Entry.*main/s);
  await close();
});

test("heap details are broken down with the mouse, in each order", async () => {
  const { page, close } = await opened("#view=details");
  for (const [mode, first] of [
    ["Bottom-up (heavy)", "dictExpand"],
    ["Top-down (tree)", "main"],
    ["Top-down (heavy)", "main"],
  ]) {
    await page.selectOption("label:has-text('Order') select", { label: mode });
    const row = await page.waitForSelector("[role=row][aria-level='2']");
    assert.match(await row.textContent(), new RegExp(first), mode);
  }
  await page.click("[aria-level='2'] button[aria-label='Break down by type']");
  assert.match(await page.textContent("[aria-level='3']"), /Entry|Object/);
  await close();
});

test("the resident memory is opened part by part", async () => {
  const { page, close } = await opened("#view=ledger");
  assert.match(await page.textContent("main"), /130 MiB resident/);
  await page.click(".ledger-bar > div");
  assert.equal(await hash(page, "ledger.part"), "blocks from malloc");
  await page.click("nav[aria-label=Level] >> text=All of it");
  await page.click("main table >> text=code and data of modules");
  await page.click("main table >> text=code and constants of modules");
  assert.match(await page.textContent(".ledger-table"), /redis-server.*libc\.so\.6/s);
  await page.goBack();
  assert.equal(await hash(page, "ledger.kind"), null);
  await page.goBack();
  assert.match(await page.textContent("main"), /Not explained: 4\.20 MiB/);
  assert.match(await page.textContent("main"), /29\.3 KiB to 34\.2 KiB/);
  assert.match(await page.textContent("main"), /the samples do not tell/);
  await close();
});

test("leaks are listed by verdict, and a stack is opened", async () => {
  const { page, close } = await opened("#view=leaks");
  assert.match(await page.textContent("main"), /1 stack leaks, 3\.53\sKiB a second/);
  assert.match(await page.textContent(".leaks-table td.number"), /^3\.53 KiB\/s± 722 B\/s$/);
  assert.match(await page.textContent("main"), /more than 99\.9 %/);
  await page.click(".leaks-table summary");
  assert.match(await page.textContent(".leaks-table ol"), /dbAdd.*db\.c:181/s);
  await page.click("button >> text=Not growing (40)");
  assert.equal(await hash(page, "leaks.verdict"), "stopped");
  const heads = await page.$$eval(".leaks-scroll >> nth=0 >> th", (all) =>
    all.map((th) => th.textContent),
  );
  assert.deepEqual(heads, ["Stack", "Live", "Oldest", "Allocated when"]);
  assert.equal((await page.$$(".leaks-ages")).length, 20);
  await page.click("button >> text=Show all 40");
  assert.equal((await page.$$(".leaks-ages")).length, 40);
  await close();
});

test("health says what is missing and what helps", async () => {
  const { page, close } = await opened("#view=health");
  const text = await page.textContent("main");
  assert.match(text, /12.*Figures are too low: .*a table was full/s);
  assert.match(text, /libfoo\.so.*31.*no symbols for this code.*heapscope symbolize/s);
  assert.match(text, /libcut\.so.*the file was not there.*keep it/s);
  assert.match(text, /secret.*the policy does not permit it.*ask the administrator/s);
  assert.match(text, /3\.00 MiB of the resident memory are heapscope’s own/);
  await close();
});

test("on a phone, a row of a table of health is a card as wide as the page", async () => {
  const { page, close } = await opened("#view=health", PHONE);
  const tables = await page.$$(".health-table.controls-cards");
  assert.ok(tables.length >= 4, `${tables.length} tables`);
  for (const table of tables) {
    const { name, inside, seen } = await table.evaluate((it) => ({
      name: it.querySelector("tbody td").getBoundingClientRect().width,
      inside: it.scrollWidth,
      seen: it.parentElement.clientWidth,
    }));
    assert.ok(name > 250 && inside <= seen, `${name} of ${inside}, ${seen} are seen`);
  }
  assert.match(await page.textContent(".health-warnings"), /Uncertain because of this: /);
  await close();
});

test("the warnings of a view stand at its top, and only those that touch it", async () => {
  const { page, close, go } = await opened("#view=table");
  assert.match(await page.textContent(".shell-warnings"), /samples were lost/);
  await go("#view=ledger");
  assert.equal(await page.$(".shell-serious"), null);
  await close();
});

async function opened(fragment = "", size = DESKTOP) {
  const it = await openPage({ fragment, size });
  return { page: it.page, close: () => it.close(), go: (to) => it.go(to) };
}
