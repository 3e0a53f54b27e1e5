/*
 * The page around the views: addresses, Back and Forward, the keyboard, light and dark, warnings,
 * and a page whose data are damaged.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { openPage, PHONE, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

test("names from the profile are text", async () => {
  const { page, close, problems } = await opened();
  assert.match(await page.textContent("main"), /<img src=x onerror='window.hostile=1'>/);
  assert.match(await page.textContent("main"), /⟨U\+202E⟩evil⟨U\+202C⟩ ␛\[31m␇/);
  assert.equal(await page.$("main script, main img"), null);
  assert.equal(await page.evaluate(() => window.hostile), undefined);
  assert.deepEqual(problems, []);
  await close();
});

test("the answer, figures and warnings are there", async () => {
  const { page, close } = await opened();
  assert.match(await page.textContent("main"), /Where did the memory go\?/);
  assert.match(await page.textContent(".overview-figures"), /96\.3 MiB ± 1\.19 MiB/);
  assert.match(await page.textContent(".shell-serious"), /samples were lost/);
  assert.match(await page.textContent(".shell-remarks summary"), /1 remark/);
  await close();
});

test("the first Tab leads to a link that skips the navigation", async () => {
  const { page, close } = await opened();
  await page.keyboard.press("Tab");
  assert.equal(
    await page.evaluate(() => document.activeElement.textContent.trim()),
    "Skip to the content",
  );
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "MAIN");
  assert.equal(await page.evaluate(() => location.hash), "");
  await close();
});

test("every control can be reached and seen with the keyboard", async () => {
  const { page, close } = await opened();
  const count = await page.$$eval("a, button, select, input, summary", (all) => all.length);
  const reached = new Set();
  for (let i = 0; i < count; i++) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        const text = document.activeElement.textContent.trim().slice(0, 40);
        return `${text} ${isSeen ? "" : "is not seen"}`;
      }),
    );
  }
  assert.deepEqual(
    [...reached].filter((text) => text.endsWith("is not seen")),
    [],
  );
  assert.ok(reached.size >= 5, [...reached].join("; "));
  await close();
});

test("light and dark can be chosen", async () => {
  const { page, close } = await opened();
  const back = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await back();
  await page.click(".shell-theme"); // light
  assert.equal(await back(), light);
  await page.click(".shell-theme"); // dark
  assert.notEqual(await back(), light);
  await page.click(".shell-theme"); // as the system
  assert.equal(await back(), light);
  await close();
});

test("Back and Forward follow the address", async () => {
  const { page, close } = await opened("#measure=objects");
  await page.evaluate(() => (location.hash = "#measure=alloc_space&view=overview"));
  await page.goBack();
  assert.equal(await page.evaluate(() => location.hash), "#measure=objects");
  await page.goForward();
  assert.equal(await page.getAttribute("nav a[aria-current]", "href"), "#measure=alloc_space");
  await close();
});

test("an address that nobody wrote shows the first view", async () => {
  for (const fragment of [
    "#view=%",
    "#view=nothing&snapshot=-1,99999999999,x&heap=77&process=88",
    "#&&=",
  ]) {
    const { page, close, problems } = await opened(fragment);
    assert.match(await page.textContent("main"), /Where did the memory go\?/);
    assert.deepEqual(problems, []);
    await close();
  }
});

test("printed, the page is light and has no buttons", async () => {
  const { page, close } = await openedDark();
  await page.emulateMedia({ media: "print" });
  const back = await page.evaluate(
    () => getComputedStyle(document.documentElement).backgroundColor,
  );
  assert.equal(back, "rgb(255, 255, 255)");
  assert.equal(await page.isVisible(".shell-theme"), false);
  assert.equal(await page.isVisible("nav"), false);
  await close();
});

/* Each document that the first view reads is cut, emptied or replaced; then all others together. */
test("a page with damaged data says so and runs on", async () => {
  const html = readFileSync(process.env.HEAPSCOPE_PAGE, "utf8");
  const ids = [...html.matchAll(/id="heapscope-([a-z0-9-]+)"/g)].map((match) => match[1]);
  const read = ["profile", "report-0", "rows-2"]; // by the first view
  const others = ids.filter((id) => !read.includes(id));
  assert.ok(read.every((id) => ids.includes(id)) && others.length > 0);
  const file = `${process.env.HEAPSCOPE_PAGE}.damaged.html`;
  for (const damage of ["", "no base64 !", "H4sIAAAAAAAA", "bnVsbA=="]) {
    for (const damaged of [...read.map((id) => [id]), others]) {
      const element = new RegExp(`(id="heapscope-(?:${damaged.join("|")})">)[^<]*`, "g");
      writeFileSync(
        file,
        html.replace(element, (_, start) => start + damage),
      );
      const { page, close, problems } = await opened("", file);
      const failure = await page.$(".shell-failure");
      if (damaged === others) assert.equal(failure, null, `${damaged} are not needed here`);
      else assert.match(await failure.textContent(), /cannot|missing|failed/);
      assert.deepEqual(problems, [], damaged.join());
      await close();
    }
  }
});

test("on a phone the choices stand behind one line, which says what is chosen", async () => {
  const it = await openPage({ fragment: "#view=table", size: PHONE });
  const { page } = it;
  const words = ".controls-folded > summary >> nth=0";
  const select = "label:has-text('Show') select";
  assert.match(await page.textContent(words), /^Live memory · at the end, /);
  assert.equal(await page.isVisible(select), false);
  await page.click(words);
  await page.selectOption(select, "alloc_space");
  await it.settle();
  assert.match(await page.textContent(words), /^Allocated memory · at the end, /);
  assert.equal(await page.isVisible(select), true);
  await page.click("summary:has-text('Filter stacks')");
  await page.fill("input[aria-label='Function to filter by']", "main");
  await page.click("text=Add filter");
  await page.waitForSelector(".filter-chip");
  assert.deepEqual(await it.overflowing(), []);
  assert.deepEqual(it.problems, []);
  await it.close();
});

test("where there is room the choices are there at once", async () => {
  const { page, close } = await opened("#view=table");
  assert.equal(await page.$(".controls-folded"), null);
  assert.equal(await page.isVisible("label:has-text('Show') select"), true);
  await close();
});

test("the chosen view moves no link to another", async () => {
  const { page, close } = await opened();
  const places = () =>
    page.$$eval("nav a", (all) => all.map((link) => Math.round(link.getBoundingClientRect().x)));
  const first = await places();
  await page.click("nav a:has-text('Table')");
  assert.deepEqual(await places(), first);
  await close();
});

async function opened(fragment = "", file = undefined) {
  const it = await openPage({ fragment, file });
  return { page: it.page, problems: it.problems, close: () => it.close() };
}

async function openedDark() {
  const it = await openPage({ theme: "dark" });
  return { page: it.page, close: () => it.close() };
}
