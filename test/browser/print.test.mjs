/*
 * The page on paper: tables with their first rows and the number of those that are left out, the
 * whole flame graph, what was chosen, and nothing that sticks out. The page has 3,000 stacks
 * (test/e2e/page_large.py).
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openPage, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

/* The width of A4 without its margins, in pixels. */
const PAPER = { width: 718, height: 1045 };

async function printed(fragment) {
  const it = await openPage({ fragment, theme: "dark" });
  await it.page.setViewportSize(PAPER);
  await it.page.emulateMedia({ media: "print" });
  await it.page.waitForSelector(".controls-grid-rest, .graph-printed");
  return it;
}

const textOf = (page, selector) =>
  page.$$eval(selector, (all) => all.map((each) => each.textContent.replace(/\s+/g, " ").trim()));

for (const view of ["table", "table&table.kind=stacks", "diff", "diff&diff.table=stacks"]) {
  test(`the first rows of a long table: ${view}`, async () => {
    const it = await printed(`#view=${view}`);
    const rows = await textOf(it.page, "[role=grid] .controls-grid-body [role=row]");
    assert.equal(rows.length, 100);
    const [rest] = await textOf(it.page, ".controls-grid-rest");
    assert.match(rest, /^The first 100 of [\d,]{3,} rows\.$/);
    const boxes = await it.page.$$eval(".controls-grid-body [role=row]", (all) =>
      all.map((row) => row.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]),
    );
    boxes.forEach(([top, bottom], i) => {
      assert.ok(bottom - top >= 20, `row ${i} is ${bottom - top} high`);
      if (i > 0) assert.ok(top >= boxes[i - 1][1] - 1, `row ${i} overlaps the one above it`);
    });
    assert.deepEqual(await it.overflowing(), []);
    assert.deepEqual(it.problems, []);
    await it.close();
  });
}

test("on the screen the same table has the rows that are seen, before and after", async () => {
  const it = await printed("#view=table");
  await it.page.emulateMedia({ media: "screen" });
  await it.page.waitForFunction(() => document.querySelectorAll("[role=row]").length < 60);
  assert.deepEqual(await textOf(it.page, ".controls-grid-rest"), []);
  await it.close();
});

test("the whole flame graph, as wide as the paper, in light colours", async () => {
  const it = await printed("#view=flame");
  const { page } = it;
  const parts = await page.$$eval(".graph-printed svg", (all) =>
    all.map((svg) => svg.getBoundingClientRect()).map(({ width, height }) => ({ width, height })),
  );
  assert.ok(parts.length > 1);
  for (const { width, height } of parts) {
    assert.ok(width > 0.9 * PAPER.width && width <= PAPER.width, `${width} wide`);
    assert.ok(height < PAPER.height / 4, `${height} high`);
  }
  const words = (await textOf(page, ".graph-printed text")).join("\n");
  assert.match(words, /Live memory: [\d.]+ [KMG]iB/);
  assert.match(words, /function_\d+/);
  const rows = await page.$$eval(".graph-printed rect", (all) =>
    [...new Set(all.map((rect) => rect.getAttribute("y")))].map(Number).sort((a, b) => a - b),
  );
  assert.deepEqual(
    rows,
    rows.map((_, i) => 20 * i),
  );
  const colour = await page.$eval(".graph-printed text", (text) => getComputedStyle(text).fill);
  const [red] = /\d+/.exec(colour);
  assert.ok(Number(red) < 90, `dark text on paper, not ${colour}`);
  assert.equal(await page.isVisible(".graph-canvas"), false);
  assert.deepEqual(await it.overflowing(), []);
  await it.close();
});

test("what was chosen and filtered stands on the paper, buttons do not", async () => {
  const it = await printed("#view=flame&filter=hide-stack%3Aabc");
  assert.equal(await it.page.isVisible("label:has-text('Show') select"), true);
  assert.equal(await it.page.isVisible(".filter-chip"), true);
  for (const hidden of [".filter-form", ".controls-menu", "nav"]) {
    assert.equal(await it.page.isVisible(hidden), false, hidden);
  }
  await it.close();
});

test("a browser that prints gets the paper without being asked twice", async () => {
  const it = await openPage({ fragment: "#view=table" });
  /* What the page consists of when the browser lays out the paper. */
  await it.page.evaluate(() =>
    addEventListener(
      "beforeprint",
      () => (window.printedRows = document.querySelectorAll("[role=row]").length),
    ),
  );
  const pdf = await it.page.pdf({ format: "A4" });
  const pages = pdf.toString("latin1").match(/\/Type \/Page\b/g).length;
  assert.ok(pages >= 3, `100 rows are on ${pages} pages`);
  assert.equal(await it.page.evaluate(() => window.printedRows), 101);
  await it.close();
});
