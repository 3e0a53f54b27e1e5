/*
 * The timeline of the sample (test/e2e/page_sample.py): three snapshots at 1, 4 ("loaded") and
 * 12.3 s, the peak at 9 s, a change of the interval at 6 s, lost samples.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { DESKTOP, openPage, PHONE, startBrowser, stopBrowser } from "./page.mjs";

before(startBrowser);
after(stopBrowser);

const LANE = "[role=listbox]";

async function opened(fragment = "", options = {}) {
  const it = await openPage({ fragment: `#view=timeline${fragment}`, ...options });
  const params = () =>
    it.page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  const ids = (await it.views()).filter((id) => id);
  return { ...it, page: it.page, params, ids, close: () => it.close(), problems: it.problems };
}

/* The plot of the first chart, in pixels of the window. */
const plotBox = (page) => page.locator(".timeline-chart .u-over").first().boundingBox();

async function drag(page, from, to) {
  const box = await plotBox(page);
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + ((from + to) / 2) * box.width, y);
  await page.mouse.move(box.x + to * box.width, y);
  await page.mouse.up();
}

test("each snapshot is a diamond, and what happened is marked and listed", async () => {
  const { page, close, problems } = await opened();
  assert.equal(await page.locator(".timeline-diamond").count(), 3);
  assert.equal(await page.locator(".timeline-named").count(), 1);
  const marks = await page.$$eval(".timeline-mark", (all) => all.map((each) => each.textContent));
  assert.deepEqual(marks, ["!", "⚑", "⇕", "▲"]);
  const loss = page.locator(".timeline-mark-loss").nth(1);
  assert.match(await loss.getAttribute("title"), /^2\.00 s to 3\.50 s: samples lost.*8 samples$/);
  const [bar, all] = [await page.locator(".timeline-span").boundingBox(), await plotBox(page)];
  assert.ok(Math.abs(bar.width / all.width - 1500 / 12546) < 0.002, "it lasts as long as the loss");
  const from = (2000 + 123) / 12546;
  assert.ok(Math.abs((bar.x - all.x) / all.width - from) < 0.002, "and begins where it began");
  const list = await page.textContent(".timeline-list");
  assert.match(list, /2\.00 s to 3\.50 s.*8 samples.*4\.00 s/);
  assert.match(
    list,
    /4\.00 s.*“loaded”.*6\.00 s.*interval raised.*9\.00 s.*peak.*not recorded.*lost.*\(4\)/,
  );
  assert.deepEqual(problems, []);
  await close();
});

/* Whether the canvas has pixels of this colour of the theme. */
async function hasColour(page, variable) {
  return page.evaluate((name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const wanted = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const canvas = document.querySelector(".timeline-chart canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < data.length; i += 4) {
      if (wanted.every((value, k) => Math.abs(data[i + k] - value) < 3)) return true;
    }
    return false;
  }, variable);
}

for (const theme of ["light", "dark"]) {
  for (const size of [DESKTOP, PHONE]) {
    test(`live and resident memory and the peak are drawn, ${theme}, ${size.width}`, async () => {
      const { page, close } = await opened("", { theme, size });
      for (const colour of ["--series-1", "--tint-1", "--text", "--grew"]) {
        assert.ok(await hasColour(page, colour), colour);
      }
      await close();
    });
  }
}

test("a diamond stands where its time is on the axis", async () => {
  const { page, close } = await opened();
  const box = await plotBox(page);
  const centres = await page.$$eval(".timeline-diamond", (all) =>
    all.map((each) => {
      const { left, width } = each.getBoundingClientRect();
      return left + width / 2;
    }),
  );
  /* The axis begins 1 % before the start and ends 1 % after the end. */
  [1000, 4000, 12300].forEach((time, i) => {
    const expected = box.x + (box.width * (time + 123)) / (12300 + 246);
    assert.ok(Math.abs(centres[i] - expected) <= 2, `${centres[i]} and ${expected}`);
  });
  await close();
});

test("dragging enlarges a part, a double click and Back show all", async () => {
  const { page, params, close, problems } = await opened();
  await drag(page, 0.25, 0.75);
  const [from, to] = (await params())["timeline.range"].split("-").map(Number);
  assert.ok(Math.abs(from - 3013) < 100 && Math.abs(to - 9286) < 100, `${from} to ${to}`);
  assert.equal(await page.locator(".timeline-diamond").count(), 1);
  const box = await plotBox(page);
  await page.mouse.dblclick(box.x + 200, box.y + 100);
  assert.equal((await params())["timeline.range"], undefined);
  assert.equal(await page.locator(".timeline-diamond").count(), 3);
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll(".timeline-diamond").length === 1);
  await page.reload();
  await page.waitForSelector(".timeline-diamond");
  assert.equal(await page.locator(".timeline-diamond").count(), 1);
  assert.deepEqual(problems, []);
  await close();
});

test("a finger chooses a range, and a tap shows values", async () => {
  const { page, params, close, problems } = await opened("", { hasTouch: true });
  assert.match(await page.textContent(".timeline-detail"), /^Tap a diamond.*Whole time/);
  const box = await plotBox(page);
  const cdp = await page.context().newCDPSession(page);
  const touch = async (type, share) => {
    const { x, y, width } = await plotBox(page);
    const touchPoints = type === "touchEnd" ? [] : [{ x: x + share * width, y: y + 50 }];
    await cdp.send("Input.dispatchTouchEvent", { type, touchPoints });
  };
  await touch("touchStart", 0.25);
  for (const share of [0.3, 0.4, 0.5]) await touch("touchMove", share);
  /* What is chosen is drawn with the next frame. */
  await page.waitForFunction((width) => {
    const drawn = document.querySelector(".timeline-chart .u-select").getBoundingClientRect();
    return Math.abs(drawn.width / width - 0.25) < 0.01;
  }, box.width);
  await touch("touchEnd");
  await page.waitForFunction(() => location.hash.includes("timeline.range"));
  const [from, to] = (await params())["timeline.range"].split("-").map(Number);
  assert.ok(Math.abs(from - (0.25 * 12546 - 123)) < 60 && Math.abs(to - from - 3136) < 60);
  await page.click("text=Whole time");
  await touch("touchStart", (4050 + 123) / 12546);
  await touch("touchEnd");
  await page.waitForFunction(() =>
    /77\.\d MiB/.test(document.querySelector(".timeline-legend").textContent),
  );
  assert.equal((await params())["timeline.range"], undefined, "a tap chooses no range");
  assert.deepEqual(problems, []);
  await close();
});

test("with Shift, the keyboard chooses a range", async () => {
  const { page, params, close } = await opened();
  await page.focus(".timeline-charts");
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Shift+ArrowUp");
  const [from, to] = (await params())["timeline.range"].split("-").map(Number);
  assert.ok(Math.abs(from - (0.09 * 12546 - 123)) < 2 && Math.abs(to - (0.9 * 12546 - 123)) < 2);
  await close();
});

test("the keyboard zooms and moves", async () => {
  const { page, params, close } = await opened();
  const range = async () => ((await params())["timeline.range"] ?? "").split("-").map(Number);
  await page.focus(".timeline-charts");
  await page.keyboard.press("+");
  const [from, to] = await range();
  assert.ok(Math.abs(to - from - 6273) < 2, `${from} to ${to}`);
  await page.keyboard.press("ArrowRight");
  assert.ok((await range())[0] > from);
  await page.keyboard.press("Home");
  assert.ok((await params())["timeline.range"].startsWith("-123-"));
  await page.keyboard.press("0");
  assert.equal((await params())["timeline.range"], undefined);
  await page.click("button[aria-label='Zoom in']");
  assert.ok((await params())["timeline.range"]);
  await page.click("text=Whole time");
  assert.equal((await params())["timeline.range"], undefined);
  await close();
});

test("a click on a diamond selects its snapshot and goes to its stacks", async () => {
  const { page, params, ids, close } = await opened();
  await page.locator(".timeline-diamond").nth(1).click();
  const { snapshot, view } = await params();
  assert.equal(snapshot, "1");
  assert.equal(view, ids.includes("flame") ? "flame" : "timeline");
  await close();
});

test("the arrows go from diamond to diamond, Enter opens one", async () => {
  const { page, params, close } = await opened();
  await page.focus(LANE);
  const active = () =>
    page.$eval(LANE, (lane) => {
      const id = lane.getAttribute("aria-activedescendant");
      return document.getElementById(id).getAttribute("aria-label");
    });
  assert.equal(await active(), "at the end, 12.3 s");
  await page.keyboard.press("Home");
  assert.equal(await active(), "snapshot 1, 1.00 s");
  await page.keyboard.press("ArrowRight");
  assert.equal(await active(), "“loaded”, 4.00 s");
  assert.match(
    await page.textContent(".timeline-detail"),
    /“loaded”, 4\.00 s: 77\.0 MiB ± .* live/,
  );
  await page.keyboard.press("Enter");
  assert.equal((await params()).snapshot, "1");
  await close();
});

for (const [how, choose] of Object.entries({
  "ctrl-click": async (page) => {
    await page
      .locator(".timeline-diamond")
      .nth(2)
      .click({ modifiers: ["Control"] });
    await page
      .locator(".timeline-diamond")
      .nth(0)
      .click({ modifiers: ["Control"] });
  },
  "shift+Enter": async (page) => {
    await page.focus(LANE);
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+Enter");
  },
  "the table": async (page) => {
    await page.click("text=Snapshots as a table");
    await page.locator(".timeline-table button").nth(2).click();
    await page.locator(".timeline-table button").nth(0).click();
  },
})) {
  test(`two snapshots are compared by ${how}`, async () => {
    const { page, params, close, problems } = await opened();
    await choose(page);
    const now = await params();
    assert.deepEqual(
      [now.view, now["diff.before"], now["diff.after"], now["timeline.first"]],
      ["diff", "0", "2", undefined],
    );
    await page.waitForSelector(".view-diff");
    assert.deepEqual(problems, []);
    await close();
  });
}

test("a snapshot that was chosen first can be let go", async () => {
  const { page, params, close } = await opened();
  const diamond = page.locator(".timeline-diamond").nth(0);
  await diamond.click({ modifiers: ["Control"] });
  assert.equal((await params())["timeline.first"], "0");
  assert.match(await page.textContent(".timeline-detail"), /snapshot 1.*is chosen/);
  await diamond.click({ modifiers: ["Control"] });
  assert.equal((await params())["timeline.first"], undefined);
  await close();
});

test("the legend has the values at the pointer", async () => {
  const { page, close } = await opened();
  assert.match(await page.textContent(".timeline-legend"), /at the end.*96\.3 MiB/);
  const box = await plotBox(page);
  /* 4.05 s, just after a snapshot and a reading */
  await page.mouse.move(box.x + (box.width * (4050 + 123)) / 12546, box.y + 50);
  await page.waitForFunction(() =>
    /77\.\d MiB.*56\.0 MiB/.test(document.querySelector(".timeline-legend").textContent),
  );
  await close();
});

test("counters can be chosen", async () => {
  const { page, params, close } = await opened();
  await page.click("text=Choose counters");
  await page.check("label:has-text('Resident memory') input");
  assert.equal((await params())["timeline.counter"], "mem.rss");
  assert.equal(await page.locator(".timeline-counter").count(), 1);
  await page.uncheck("label:has-text('Resident memory') input");
  assert.equal(await page.locator(".timeline-counter").count(), 0);
  await close();
});
