/*
 * The page of `heapscope ui`: a process is chosen, recorded, watched while it grows, opened in the
 * other views, stopped and saved.
 *
 * HEAPSCOPE_LINK is the address that the server printed, HEAPSCOPE_UI its pid. HEAPSCOPE_GROWING is
 * a program that grows, whose name is hs-growing; HEAPSCOPE_REFUSED is one that does not permit
 * profiling. Downloads go to HEAPSCOPE_SAVED.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { LOOKS, openServed, startBrowser, stopBrowser } from "./page.mjs";

const {
  HEAPSCOPE_LINK: LINK,
  HEAPSCOPE_GROWING: GROWING,
  HEAPSCOPE_REFUSED: REFUSED,
} = process.env;
const MAIN = process.env.HEAPSCOPE_DAEMON ? "heapscoped" : "heapscope attach";
const UNITS = ["B", "KiB", "MiB", "GiB"];

before(startBrowser);
after(stopBrowser);

const bytesOf = (text) => {
  const [, number, unit] = /([\d.]+)\s(B|KiB|MiB|GiB)/.exec(text);
  return Number(number) * 1024 ** UNITS.indexOf(unit);
};
const liveBytes = async (page) => bytesOf(await page.textContent(".live-figures b"));
const row = (page, pid) =>
  page.locator("tbody tr").filter({ has: page.locator(`td:text-is("${pid}")`) });

async function open(fragment = "", options = {}) {
  return openServed(LINK, { fragment: `#view=live${fragment}`, ...options });
}

async function waitForStatus(page, pattern) {
  await page.waitForFunction(
    (source) => new RegExp(source).test(document.querySelector(".live-status")?.textContent ?? ""),
    pattern.source,
  );
}

async function good(opened) {
  assert.deepEqual(opened.problems, []);
  assert.deepEqual(await opened.overflowing(), []);
  await opened.close();
}

test("a process that does not permit it says why it is not recorded", async () => {
  const opened = await open(`&live.filter=${REFUSED}`);
  const { page } = opened;
  const refused = row(page, REFUSED);
  await refused.waitFor();
  assert.match(
    await refused.textContent(),
    /Cannot be recorded\. It does not permit profiling.*Start it without/,
  );
  assert.ok(await refused.locator("button").isDisabled());
  await opened.shot("live-refused");
  await good(opened);
});

test("the server's refusal is a sentence with what to do", async () => {
  const opened = await open(`&live.record=${REFUSED}`);
  const { page } = opened;
  await page.click("text=Start recording");
  await page.waitForFunction(() => !document.querySelector("#live-start").disabled);
  const words = await page.textContent(".shell-failure");
  assert.match(words, /HEAPSCOPE_PROFILEABLE=0/);
  assert.match(
    words,
    MAIN === "heapscoped" ? /heapscope report/ : /Start it without that variable\./,
  );
  await good(opened); // the browser has nothing to say on its console
});

test("a wrong setting is named while it is typed", async () => {
  const opened = await open(`&live.record=${GROWING}`);
  const { page } = opened;
  await page.fill("#live-setting-interval", "4x");
  await page.waitForSelector(".live-config .shell-failure");
  assert.match(await page.textContent(".live-config .shell-failure"), /'4x' is not a size/);
  await page.fill("#live-setting-interval", "8K");
  await page.check("#live-setting-dump-at-max");
  await page.waitForFunction(() =>
    /sampling_interval_bytes: 8192/.test(
      document.querySelector("pre[aria-label=TraceConfig]")?.textContent,
    ),
  );
  assert.match(
    await page.textContent("pre[aria-label=TraceConfig]"),
    /a snapshot when live memory reaches a new peak/,
  );
  assert.match(await page.textContent("pre[aria-label=Command]"), /--interval=8K.* --dump-at-max/);
  assert.equal(await page.$(".live-config .shell-failure"), null);
  /* Without a daemon, children can be left out: no TraceConfig says so. */
  const noFollow = page.locator("#live-setting-no-follow");
  assert.equal(await noFollow.count(), MAIN === "heapscoped" ? 0 : 1);
  if (MAIN !== "heapscoped") {
    await noFollow.check();
    await page.waitForFunction(() =>
      /--no-follow/.test(document.querySelector("pre[aria-label=Command]")?.textContent),
    );
    assert.match(
      await page.textContent("pre[aria-label=TraceConfig]"),
      /not in a TraceConfig: .*--no-follow/,
    );
  }
  await good(opened);
});

test("the list sorts, filters, and is used with the keyboard", async () => {
  const opened = await open();
  const { page } = opened;
  await page.waitForSelector("tbody tr");
  await page.keyboard.press("/");
  await page.keyboard.type("hs-growing");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  await row(page, GROWING).waitFor();
  await page.fill("input[type=search]", "");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length > 1);
  await page.click("th button:has-text('Pid')");
  const pids = await page.$$eval("tbody td:nth-child(2)", (all) =>
    all.map((td) => Number(td.textContent)),
  );
  assert.deepEqual(
    pids,
    [...pids].sort((a, b) => a - b),
  );
  assert.equal(await page.getAttribute("th:has-text('Pid')", "aria-sort"), "ascending");
  await page.focus("tbody button:not(:disabled)");
  const first = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await page.keyboard.press("ArrowDown");
  const second = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.notEqual(first, second);
  assert.match(second, /^(Record|Watch) /);
  await good(opened);
});

test("start, watch it grow, snapshot, open, stop, save", async () => {
  const opened = await open(`&live.filter=${GROWING}`);
  const { page } = opened;
  await row(page, GROWING).locator("button").click();
  await page.fill("#live-setting-interval", "1024");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".live-figures");
  await waitForStatus(page, / Live/);
  await waitForStatus(page, new RegExp(`of ${MAIN}`));
  const first = await liveBytes(page);
  const label = await page.getAttribute(".live-chart", "aria-label");
  await page.waitForFunction(
    (before) => document.querySelector(".live-chart").ariaLabel !== before,
    label,
  );
  await page.waitForFunction(() =>
    /\+.* a second/.test(document.querySelector(".live-figures").textContent),
  );
  const later = await liveBytes(page);
  assert.ok(later > first, `${later} > ${first}`);
  /* The program's function is in the table, and grows. */
  const grow = page.locator("tbody tr").filter({ hasText: "grow_here" });
  await grow.first().waitFor();
  assert.match(await grow.first().textContent(), /\+[\d.]+ [KM]iB/);
  await page.click("button:text-is('Stacks')");
  await page.click(".live-expand");
  await page.waitForSelector(".live-frames li");
  await opened.shot("live-watch-stacks");
  await page.click("button:text-is('Types')");
  await page.locator("tbody tr").filter({ hasText: "(unknown)" }).first().waitFor();
  assert.equal(await page.locator(".live-top thead th").count(), 4);
  /* The resident memory is divided into parts, each of which can be opened. */
  const parts = page.locator(".live-ledger-parts button");
  await parts.first().waitFor();
  const sizes = (await parts.allTextContents()).map(bytesOf);
  assert.deepEqual(
    sizes,
    [...sizes].sort((a, b) => b - a),
  );
  await page.click(".live-ledger-parts button:has-text('modules')");
  await page.waitForSelector(".live-ledger-lines tr:has-text('libc.so')");
  await opened.shot("live-watch-types");
  await page.click(".live-ledger-parts button:has-text('modules')");
  await page.click("button:text-is('Functions')");

  await page.click("button:has-text('Pause')");
  const paused = await page.textContent(".live-figures");
  await waitForStatus(page, /Paused\. [2-9] updates waiting/);
  assert.equal(await page.textContent(".live-figures"), paused);
  await page.click("button:has-text('Go on')");
  await page.waitForFunction(
    (text) => document.querySelector(".live-figures").textContent !== text,
    paused,
  );

  await page.click("button:text-is('Snapshot')");
  await page.waitForSelector(".live-actions .live-saved");
  assert.match(await page.textContent(".live-actions"), /snapshot-1\.pftrace/);
  await page.click("button:has-text('Open this moment')");
  await page.waitForSelector(".shell-files");
  await opened.settle();
  assert.match(await page.textContent("body"), /grow_here|python3/);
  for (const view of (await opened.views()).filter((id) => id !== "live")) {
    await opened.go(`#${new URLSearchParams({ file: await fileOf(page), ...(view && { view }) })}`);
    assert.equal(await page.$(".shell-failure"), null, view);
  }
  await opened.go(`#view=live&live.pid=${GROWING}`);
  await waitForStatus(page, / Live/);
  await page.click("button:has-text('Stop and save')");
  await page.waitForSelector(".live-status .live-saved");
  await waitForStatus(page, /It is over: The process .* is recorded no more\./);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click(".live-status a:has-text('Save the trace')"),
  ]);
  await download.saveAs(join(process.env.HEAPSCOPE_SAVED, "saved.pftrace"));
  await opened.shot("live-stopped");
  await good(opened);
});

const fileOf = (page) =>
  page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("file"));

async function startRecording(page) {
  const answer = await page.evaluate(async (pid) => {
    const response = await fetch("api/start", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ pid: [pid], interval: 1024 }),
    });
    return { status: response.status, ...(await response.json()) };
  }, Number(GROWING));
  assert.equal(answer.status, 200, answer.error);
  return answer.session;
}

async function hide(page, isHidden) {
  await page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

test("a hidden tab asks nothing", async () => {
  for (const fragment of ["", `&live.pid=${GROWING}`]) {
    const opened = await open();
    const { page } = opened;
    await page.waitForSelector("tbody tr");
    if (fragment) {
      await startRecording(page);
      await opened.go(`#view=live${fragment}`);
      await waitForStatus(page, / Live/);
    }
    await hide(page, true);
    let asked = 0;
    page.on("request", () => asked++);
    await page.waitForTimeout(6500);
    assert.equal(asked, 0);
    await hide(page, false);
    await page.waitForRequest(/api/);
    if (fragment) await waitForStatus(page, / Live/);
    await good(opened);
  }
});

test("level AA, both themes and sizes", async () => {
  const fragments = {
    list: "",
    record: `&live.record=${REFUSED}`,
    names: "&live.record=name",
    watch: `&live.pid=${GROWING}`,
    stacks: `&live.pid=${GROWING}&live.kind=stacks`,
    types: `&live.pid=${GROWING}&live.kind=types`,
  };
  for (const { device, size, theme } of LOOKS) {
    const opened = await open("", { size, theme });
    for (const [name, fragment] of Object.entries(fragments)) {
      await opened.go(`#view=live${fragment}`);
      if (fragment.includes("pid")) await opened.page.waitForSelector(".live-figures");
      if (name === "list") {
        await opened.page.click(".live-internals summary");
        await opened.page.waitForSelector(".live-internals tbody tr");
      }
      await opened.page.waitForTimeout(name === "watch" ? 2500 : 300);
      await opened.page.evaluate(() => window.scrollTo(0, 0));
      await opened.shot(`live-${name}-${device}-${theme}`);
      assert.deepEqual(await opened.violations(), [], `${name} ${device} ${theme}`);
      assert.deepEqual(await opened.overflowing(), [], `${name} ${device} ${theme}`);
    }
    await good(opened);
  }
});

test("the loss of what records is said with what to do", async (t) => {
  if (process.env.HEAPSCOPE_DAEMON) return t.skip("the daemon is needed by other tests");
  const opened = await open(`&live.pid=${GROWING}`);
  const { page } = opened;
  await waitForStatus(page, / Live/);
  await waitForStatus(page, /attach\.\d+/);
  const words = await page.textContent(".live-session");
  process.kill(Number(/attach\.(\d+)/.exec(words)[1]), "SIGKILL");
  await waitForStatus(page, /It is over: /);
  await page.waitForSelector("text=The process runs, and is recorded no more");
  assert.match(await page.textContent(".live-ended"), /begin a new recording/);
  await opened.shot("live-collector-lost");
  /* It can be recorded again, from here. */
  await page.click("button:has-text('Record it…')");
  await page.click("text=Start recording");
  await waitForStatus(page, / Live/);
  await good(opened);
});

test("the end of the program, and of the server, is said with what to do", async () => {
  const opened = await open(`&live.pid=${GROWING}`);
  const { page } = opened;
  await waitForStatus(page, / Live/);
  process.kill(Number(GROWING), "SIGKILL");
  await waitForStatus(page, /It is over: The process has ended/);
  await page.waitForSelector("text=The process runs no more.");
  assert.deepEqual(opened.problems, []);
  await opened.shot("live-ended");
  await opened.go("#view=live");
  await page.waitForSelector("tbody tr");
  process.kill(Number(process.env.HEAPSCOPE_UI), "SIGTERM");
  await page.waitForSelector(".shell-failure");
  assert.match(
    await page.textContent(".shell-failure"),
    /“heapscope ui” does not answer\..*start “heapscope ui” again/s,
  );
  await opened.shot("live-lost");
  await opened.close();
});
