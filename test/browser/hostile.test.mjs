/*
 * A page in which texts attack it (test/e2e/page_hostile.py, test/e2e/hostile_names.c): in each
 * view, with every button pressed and every row opened, names are text, and no script of theirs
 * runs.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { DESKTOP, openPage, PHONE, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

/* States of views in which more names are shown. */
const STATES = [
  "#view=table&table.kind=stacks",
  "#view=table&table.kind=types",
  "#view=table&table.kind=threads",
  "#view=table&table.kind=heaps",
  "#view=table&table.kind=modules",
  "#view=table&table.columns=all&table.search=%3Cscript",
  "#view=table&table.stack=3",
  "#view=details&details.mode=tree",
  "#view=details&details.open=:t&details.open=t1:f&details.open=t2:f",
  "#view=leaks&leaks.verdict=stopped",
  "#heap=1&thread=0&type=1&view=table",
  "#snapshot=1&view=ledger",
];
const PRESSED = 40;

/* What names must never become: elements of their kind, and scripts that ran. */
async function foundMarkup(page) {
  return page.evaluate(() => {
    const found = [...document.querySelectorAll("img, iframe, object, embed, body script, a[href]")]
      .filter((element) => {
        if (element.matches("script[type='application/octet-stream']")) return false;
        if (!element.matches("a")) return !element.closest("[data-drawn]");
        return !element.getAttribute("href").startsWith("#");
      })
      .map((element) => element.outerHTML.slice(0, 120));
    const handlers = [...document.querySelectorAll("*")].filter((element) =>
      [...element.attributes].some(({ name }) => /^on/.test(name)),
    );
    return [...found, ...handlers.map((element) => `a handler in ${element.tagName}`)];
  });
}

/* The page's own script, which the template has, is no script of a name. */
async function ownScripts(page) {
  return page.$$eval("body script:not([type='application/octet-stream'])", (all) => all.length);
}

async function checkView(opened, what) {
  const { page } = opened;
  assert.equal(await page.evaluate(() => window.hostile), undefined, what);
  const own = await ownScripts(page);
  const markup = (await foundMarkup(page)).filter((text) => !/^<script/.test(text));
  assert.deepEqual(markup, [], what);
  assert.ok(own <= 1, `${what}: ${own} scripts`);
  assert.deepEqual(opened.problems, [], what);
  assert.equal(await page.$(".shell-failure"), null, `${what} failed`);
}

/* Presses the buttons, opens the details and points at the rows of the view. */
async function tryEverything(opened, fragment) {
  const { page } = opened;
  const selector = "main button, main summary, main [role=row], main canvas";
  const count = Math.min(await page.$$eval(selector, (all) => all.length), PRESSED);
  for (let i = 0; i < count; i++) {
    const element = (await page.$$(selector))[i];
    if (!element || !(await element.isVisible()) || !(await element.isEnabled())) continue;
    await element.hover({ timeout: 1000 }).catch(() => {});
    await element.click({ timeout: 1000 }).catch(() => {});
    await opened.settle();
    await checkView(opened, `${fragment}, button ${i}`);
    const isOther = await page.evaluate(
      (view) => (new URLSearchParams(location.hash.slice(1)).get("view") ?? "") !== view,
      new URLSearchParams(fragment.slice(1)).get("view") ?? "",
    );
    if (isOther) await opened.go(fragment);
  }
}

for (const [device, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  test(`hostile names are text in every view, ${device}`, async () => {
    const opened = await openPage({ size });
    opened.page.on("dialog", (dialog) => {
      opened.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const views = await opened.views();
    const fragments = [...views.map((view) => (view ? `#view=${view}` : "#")), ...STATES];
    for (const fragment of fragments) {
      await opened.go(fragment);
      await checkView(opened, fragment);
      assert.deepEqual(await opened.overflowing(), [], fragment);
      if (device === "desktop") await tryEverything(opened, fragment);
    }
    await opened.close();
  });
}

test("an address full of hostile text shows a view", async () => {
  for (const key of ["table.search", "table.function", "table.sort", "details.open", "filter"]) {
    for (const value of ["<img src=x onerror=window.hostile=1>", "__proto__", "(", "\u0000"]) {
      const fragment = `#view=table&${key}=${encodeURIComponent(value)}`;
      const opened = await openPage({ fragment });
      await checkView(opened, fragment);
      await opened.close();
    }
  }
});
