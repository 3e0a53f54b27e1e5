/*
 * The flame graph: zoom, keyboard, search, filters, order, comparison, tooltips, the list, copied
 * stacks and saved files, on a profile that the tests know (test/e2e/page_sample.py).
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { openPage, PHONE, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

const GRAPH = ".graph-scroll";
const ROW = 20;

/* A page with the view; `keys` presses keys in the graph, `focused` is what is read out. */
async function opened(fragment = "", more = {}) {
  const it = await openPage({ fragment: `#view=flame${fragment}`, ...more });
  const { page } = it;
  await page.waitForSelector(`${GRAPH}, .flame-empty`);
  const keys = async (...names) => {
    await page.focus(GRAPH);
    for (const name of names) await page.keyboard.press(name);
  };
  const text = (selector) => page.textContent(selector);
  const hash = () => page.evaluate(() => decodeURIComponent(location.hash));
  const param = (name) =>
    page.evaluate((key) => new URLSearchParams(location.hash.slice(1)).get(key), name);
  /* The middle of the box in this row that begins at a share of the width. */
  const at = async (row, share) => {
    const box = await (await page.$(GRAPH)).boundingBox();
    return [box.x + share * box.width, box.y + row * ROW + ROW / 2];
  };
  return {
    page,
    keys,
    text,
    hash,
    param,
    at,
    context: it.context,
    problems: it.problems,
    shot: (name) => it.shot(name),
    overflowing: () => it.overflowing(),
    close: () => it.close(),
  };
}

const choice = (label) => `label.controls-select:has-text("${label}") select`;
const spoken = "[role=status].hidden-but-read";

test("the graph is drawn, with the outermost functions on top", async () => {
  const { page, problems, close, at, text } = await opened();
  const colours = await page.$eval(".graph-canvas", (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours > 4, `${colours} colours`);
  await page.mouse.move(...(await at(1, 0.1)));
  assert.match(await text(".graph-tip"), /^main/);
  assert.match(await text(".graph-tip"), /Total ?91\.4 MiB, 94\.9 %/);
  assert.match(await text(".graph-tip"), /Margin of the total ?± 1\.18 MiB/);
  assert.match(await text(".graph-tip"), /Module ?redis-server/);
  await page.mouse.move(...(await at(0, 0.1)));
  assert.match(await text(".graph-tip"), /Live memory ?96\.3 MiB/);
  assert.deepEqual(problems, []);
  await close();
});

test("a click zooms, and Back undoes it", async () => {
  const { page, close, at, param, text } = await opened();
  await page.mouse.click(...(await at(2, 0.1)));
  assert.match(await text(".graph-path"), /main.*aeMain/);
  const zoom = await param("flame.zoom");
  assert.match(zoom, /^\d+\.\d+$/);
  await page.reload();
  await page.waitForSelector(".graph-path");
  assert.match(await text(".graph-path b"), /aeMain/);
  await page.click(".graph-path button");
  assert.equal(await param("flame.zoom"), null);
  await page.goBack();
  assert.equal(await param("flame.zoom"), zoom);
  await close();
});

test("arrows move, Enter zooms in, Escape zooms out", async () => {
  const { keys, text, param, page, close } = await opened();
  await keys("ArrowDown");
  assert.match(await text(spoken), /^Live memory/);
  await keys("ArrowDown");
  assert.match(await text(spoken), /^main\. Total 91\.4 MiB/);
  await keys("ArrowRight");
  assert.match(await text(spoken), /^start_thread/);
  await keys("ArrowLeft", "ArrowDown", "ArrowDown");
  assert.match(await text(spoken), /^processCommand/);
  assert.match(await text(".graph-tip"), /^processCommand/);
  assert.match(await text(".graph-details"), /^processCommand/);
  await keys("Enter");
  assert.match(await text(".graph-path b"), /processCommand/);
  await keys("End");
  assert.match(await text(spoken), /^processCommand/);
  await keys("Escape");
  assert.match(await text(".graph-path b"), /aeMain/);
  await keys("Escape", "Escape");
  assert.equal(await param("flame.zoom"), null);
  await keys("/");
  assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  await close();
});

test("a search says how much it found", async () => {
  const { page, close, text, param } = await opened();
  const status = ".controls-search [role=status]";
  const search = async (what) => {
    await page.fill("input[type=search]", what);
    await page.waitForFunction(
      (wanted) => new URLSearchParams(location.hash.slice(1)).get("flame.search") === wanted,
      what,
    );
    return text(status);
  };
  assert.equal(await search("SETCOMMAND"), "1 function, 50.4 MiB, 52.3 %");
  assert.equal(await search("/^(setCommand|dbAdd)$/"), "2 functions, 50.4 MiB, 52.3 %");
  assert.equal(await search("/setcommand/"), "nothing found");
  assert.equal(await search("/(/"), "no regular expression");
  assert.equal(await search("sdsnewlen"), "1 function, 22.4 MiB, 23.3 %");
  assert.equal(await param("flame.search"), "sdsnewlen");
  await close();
});

test("filters are chips, which can be changed and removed", async () => {
  const { page, close, text, hash } = await opened();
  await page.selectOption("select[aria-label='Kind of filter']", "hide-stack");
  await page.fill("input[aria-label='Function to filter by']", "processCommand");
  await page.keyboard.press("Enter");
  assert.match(await hash(), /filter=hide-stack:processCommand/);
  assert.match(await text(".filter-chip"), /Hide stack processCommand/);
  assert.match(await text(".graph-list p"), /28\.1 MiB/);
  await page.click(".filter-words");
  await page.fill("input[aria-label='Function to filter by']", "/^main$/");
  await page.click(".filter-form button");
  assert.match(await text(".filter-chip"), /\/\^main\$\//);
  assert.match(await text(".graph-list p"), /4\.91 MiB/);
  await page.click(".filter-remove");
  assert.equal(await page.$(".filter-chip"), null);
  assert.match(await text(".graph-list p"), /96\.3 MiB/);
  await page.evaluate(() => (location.hash = "#view=flame&filter=show-stack:nobody"));
  assert.match(await text(".flame-empty"), /leave no stack/);
  await page.evaluate(() => (location.hash = "#view=flame&filter=show-stack:/(/"));
  assert.match(await text(".filter-bad"), /is no regular expression/);
  await close();
});

test("the focused frame offers filters", async () => {
  const { page, keys, text, hash, close } = await opened();
  await keys("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown");
  assert.match(await text(".graph-details"), /^processCommand/);
  await page.click(".graph-actions >> text=Show from this frame");
  assert.match(await hash(), /filter=from-frame:\/\^processCommand\$\//);
  assert.match(await text(".graph-list p"), /68\.2 MiB/);
  await keys("ArrowDown", "ArrowDown");
  await page.click(".graph-actions >> text=Pivot");
  assert.match(await hash(), /filter=pivot:/);
  assert.equal((await hash()).includes("from-frame"), false);
  await page.waitForFunction(() =>
    /Pivot/.test(document.querySelector(".filter-chip").textContent),
  );
  await keys("ArrowUp");
  assert.match(await text(spoken), /^\w+\. Through here/);
  await close();
});

test("bottom-up, upwards, colours and merged recursion", async () => {
  const { page, close, text, param, shot, problems } = await opened();
  await page.selectOption(choice("Order"), "up");
  assert.match(await text(".graph-list li"), /dictExpand.*29\.0 MiB, 30\.1 %/);
  await page.selectOption(choice("Grows"), "flame");
  assert.equal(await param("flame.layout"), "flame");
  await page.selectOption(choice("Colour"), "kind");
  assert.match(await text(".graph-legend"), /program and libraries/);
  await page.selectOption(choice("Colour"), "type");
  assert.match(await text(".graph-legend"), /not recorded/);
  await page.check(".flame-check input");
  assert.equal(await param("flame.recursion"), "merged");
  await shot("bottom-up");
  assert.deepEqual(problems, []);
  await close();
});

test("thread, heap, measure and snapshot are chosen", async () => {
  const { page, close, text } = await opened();
  await page.selectOption(choice("Thread"), "1");
  assert.match(await text(".graph-list p"), /4\.91 MiB/);
  await page.selectOption(choice("Thread"), "");
  await page.selectOption(choice("Heap"), "1");
  assert.match(await text(".graph-list p"), /14\.5 MiB|\d+ MiB/);
  await page.selectOption(choice("Heap"), "");
  await page.selectOption(choice("Show"), "alloc_space");
  assert.match(await text(".graph-list p"), /289 MiB/);
  await page.selectOption(choice("Show"), "peak");
  assert.match(await text(".graph-list p"), /101 MiB/);
  await page.selectOption(choice("Show"), "objects");
  assert.match(await text(".graph-list p"), /966,295/);
  await page.selectOption(choice("Snapshot"), "0");
  await page.waitForFunction(() => /386/.test(document.querySelector(".graph-list p").textContent));
  assert.match(await text(".graph-list p"), /386,518/);
  assert.equal(await page.isDisabled(choice("Type")), true);
  await close();
});

test("two snapshots are compared by colour and sign", async () => {
  const { page, close, text, keys, shot } = await opened();
  await page.selectOption(choice("Compare with"), "0");
  await page.waitForFunction(() =>
    /grew/.test(document.querySelector(".graph-legend").textContent),
  );
  await keys("ArrowDown", "ArrowDown");
  assert.match(await text(spoken), /^main\. Before 36\.6 MiB\. Now 91\.4 MiB\. Change \+54\.8 MiB/);
  assert.match(
    await text(spoken),
    /grew\. Interval of the change from \+53\.\d MiB to \+5\d\.\d MiB/,
  );
  await shot("change");
  await close();
});

test("the list leads where the graph does", async () => {
  const { page, close, text, param } = await opened();
  await page.click(".graph-list summary");
  await page.click(".graph-list li button");
  assert.match(await text(".graph-list p"), /Directly behind main, which has 91\.4 MiB/);
  assert.notEqual(await param("flame.zoom"), null);
  await page.click(".graph-list p button");
  assert.equal(await param("flame.zoom"), null);
  await close();
});

test("what was not recorded is named", async () => {
  const { close, text } = await opened("&thread=1&measure=alloc_space");
  assert.match(await text(".flame-empty"), /Threads are not recorded for this figure/);
  await close();
});

test("a stack is copied", async () => {
  const { context, page, keys, text, close } = await opened();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await keys("ArrowDown", "ArrowDown", "ArrowDown", "c");
  await page.waitForFunction(() =>
    /copied/.test(document.querySelector(".graph-message")?.textContent),
  );
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    "main  (redis-server)\naeMain  (redis-server)\n",
  );
  assert.match(await text(".graph-message"), /The stack was copied/);
  await close();
});

test("pictures and stacks are saved", async () => {
  const { page, close } = await opened();
  const save = async (what) => {
    await page.click(".controls-menu summary");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.click(`.controls-menu-list >> text=${what}`),
    ]);
    return { name: download.suggestedFilename(), data: readFileSync(await download.path()) };
  };
  const svg = await save("SVG picture");
  assert.equal(svg.name, "redis-server.flame.space.svg");
  assert.match(svg.data.toString(), /^<svg [^]*>setCommand<[^]*<\/svg>\s*$/);
  assert.doesNotMatch(svg.data.toString(), /<(script|img)/);
  const isWellFormed = await page.evaluate((text) => {
    const read = new DOMParser().parseFromString(text, "image/svg+xml");
    return read.querySelector("parsererror") === null;
  }, svg.data.toString());
  assert.ok(isWellFormed);
  const png = await save("PNG picture");
  assert.equal(png.data.subarray(1, 4).toString(), "PNG");
  const folded = (await save("Folded stacks")).data.toString();
  const lines = folded.trimEnd().split("\n");
  const stack = "main;aeMain;processCommand;setCommand;dictExpand 30394339";
  assert.equal(lines.length, 12);
  assert.ok(lines.includes(stack), folded.slice(0, 500));
  await close();
});

test("on a phone nothing sticks out, and a touch zooms", async () => {
  const { page, at, overflowing, text, close } = await opened("", { size: PHONE });
  await page.mouse.click(...(await at(1, 0.3)));
  assert.match(await text(".graph-path"), /main/);
  assert.deepEqual(await overflowing(), []);
  await close();
});
