/*
 * The list of processes of `heapscope ui` says how much lives in each process that is recorded.
 *
 * HEAPSCOPE_LINK is the address that the server printed, HEAPSCOPE_SIZES "PID=MIB,..." the recorded
 * processes with what they hold.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { DESKTOP, openServed, PHONE, startBrowser, stopBrowser } from "./page.mjs";

const SIZES = new Map(
  process.env.HEAPSCOPE_SIZES.split(",").map((pair) => pair.split("=").map(Number)),
);

before(startBrowser);
after(stopBrowser);

const mebibytes = (text) => {
  const [, number] = /([\d.]+)\sMiB/.exec(text);
  return Number(number);
};

/* "PID: MIB" of the rows that say what lives, in their order. */
async function shown(page) {
  const rows = await page.$$eval("tbody tr", (all) =>
    all.map((tr) => [...tr.cells].map((cell) => cell.textContent)),
  );
  return rows
    .filter((cells) => SIZES.has(Number(cells[1])))
    .map((cells) => [Number(cells[1]), cells[4]]);
}

for (const [device, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  test(`all recorded processes have a figure, on a ${device}`, async () => {
    const opened = await openServed(process.env.HEAPSCOPE_LINK, {
      fragment: "#view=live&live.filter=hs-holds",
      size,
    });
    const { page } = opened;
    const requests = [];
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    await page.waitForFunction(
      (count) =>
        [...document.querySelectorAll("tbody tr")].filter((tr) =>
          / MiB$/.test(tr.cells[4].textContent),
        ).length >= count,
      SIZES.size,
    );
    for (const [pid, text] of await shown(page)) {
      const wanted = SIZES.get(pid);
      assert.ok(
        mebibytes(text) >= wanted * 0.9 && mebibytes(text) < wanted + 4,
        `${pid}: ${text}, it holds ${wanted}`,
      );
    }
    const cards = await page.textContent(".live-cards");
    assert.equal((cards.match(/MiB live/g) ?? []).length, SIZES.size, cards);
    /* Each column sorts. */
    await page.click("th button:has-text('Live')");
    const largest = (await shown(page)).map(([pid]) => SIZES.get(pid));
    assert.deepEqual(
      largest,
      [...largest].sort((a, b) => b - a),
    );
    await page.click("th button:has-text('Live')");
    const smallest = (await shown(page)).map(([pid]) => SIZES.get(pid));
    assert.deepEqual(smallest, largest.reverse());
    assert.equal(smallest.length, SIZES.size);
    await opened.shot(`live-totals-${device}`);
    assert.deepEqual(await opened.overflowing(), []);
    assert.deepEqual(await opened.violations(), []);
    assert.deepEqual(opened.problems, []);
    assert.ok(!requests.some((path) => path.includes("watch")), requests.join());
    await opened.close();
  });
}
