/*
 * Measures in a headless Chromium how the tables and the filters of a page behave: how long an
 * action takes on the clock and in CPU time of the page's thread, the longest time in which the
 * page does not answer, and the memory. Prints a table. bench/page_speed starts it.
 *
 * HEAPSCOPE_BROWSER names the browser, HEAPSCOPE_PLAYWRIGHT the folder of playwright-core.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = await import(`${process.env.HEAPSCOPE_PLAYWRIGHT}/index.mjs`);
const WAIT_MS = 180_000;
const ROWS = "[role=grid] [role=row][aria-rowindex='2']";
const PATTERN = process.env.HEAPSCOPE_PATTERN ?? "function_12";

/* What a reader does, in this order, each from the picture before. */
const ACTIONS = [
  ["functions", "view=table", ROWS],
  ["stacks", "view=table&table.kind=stacks", ROWS],
  ["stacks, by objects", "view=table&table.kind=stacks&table.sort=objects:down", ROWS],
  ["stacks, by name", "view=table&table.kind=stacks&table.sort=name:up", ROWS],
  ["stacks, search", "view=table&table.kind=stacks&table.search=function_17", ROWS],
  ...["show-stack", "hide-stack", "from-frame", "hide-frame", "pivot"].map((kind) => [
    `stacks, ${kind}`,
    `view=table&table.kind=stacks&filter=${kind}:${PATTERN}`,
    ROWS,
  ]),
  ["functions, show-stack", `view=table&filter=show-stack:${PATTERN}`, ROWS],
  ["functions, all columns", "view=table&table.columns=all", ROWS],
  ["heap details", "view=details", "[aria-level='2']"],
  ["flame graph", "view=flame", ".graph-canvas"],
  ["flame graph, show-stack", `view=flame&filter=show-stack:${PATTERN}`, ".graph-canvas"],
  ["flame graph, pivot", `view=flame&filter=pivot:${PATTERN}`, ".graph-canvas"],
];

/* In the page: notes the longest time between two turns of its event loop. */
function watchTurns() {
  window.longestTurn = 0;
  let last = performance.now();
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const now = performance.now();
    window.longestTurn = Math.max(window.longestTurn, now - last);
    last = now;
    setTimeout(() => channel.port2.postMessage(0), 4);
  };
  channel.port2.postMessage(0);
}

const drawn = () =>
  new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))),
  );

/* Not the element itself: a handle of it would keep all that it was made of. */
function isDone(wanted) {
  return !document.querySelector(".loading") && document.querySelector(wanted) !== null;
}

async function measurePage(browser, file) {
  const root = await browser.newBrowserCDPSession();
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  page.setDefaultTimeout(WAIT_MS);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const cpu = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
  await page.addInitScript(watchTurns);
  const start = performance.now();
  await page.goto(`${pathToFileURL(resolve(file)).href}#view=health`);
  await page.waitForFunction(isDone, "main");
  const heads = ["clock, ms", "CPU, ms", "longest stop, ms", "memory now, MB", "at most, MB"];
  console.log(`| ${file} | ${heads.join(" | ")} |`);
  console.log("|---|---:|---:|---:|---:|---:|");
  const { processInfo } = await root.send("SystemInfo.getProcessInfo");
  const pids = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  const resident = (key) => {
    const of = (pid) => {
      try {
        return Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`))[1]);
      } catch {
        return 0; /* it ended */
      }
    };
    return Math.round(Math.max(...pids.map(of)) / 1000);
  };
  const show = (what, clock, spent, stop) => {
    const times = [clock, spent, stop].map(Math.round).join(" | ");
    console.log(`| ${what} | ${times} | ${resident("VmRSS")} | ${resident("VmHWM")} |`);
  };
  show("opened", performance.now() - start, await cpu(), await page.evaluate("longestTurn"));
  for (const [what, fragment, wanted] of ACTIONS) {
    const before = await cpu();
    const from = performance.now();
    await page.evaluate((hash) => {
      window.longestTurn = 0;
      location.hash = hash;
    }, fragment);
    await page.evaluate(drawn);
    await page.waitForFunction(isDone, wanted);
    await page.evaluate(drawn);
    const clock = performance.now() - from;
    show(what, clock, (await cpu()) - before, await page.evaluate("longestTurn"));
  }
  const heap = async (when) => {
    const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
    const [own, arrays] = [usedSize, backingStorageSize].map((bytes) => Math.round(bytes / 1e6));
    const all = resident("VmRSS");
    console.log(`${when}: JavaScript heap ${own} MB, arrays ${arrays} MB, all ${all} MB`);
  };
  await heap("at the end");
  await session.send("HeapProfiler.collectGarbage");
  await heap("what is in use");
  console.log("");
  await page.close();
}

const browser = await chromium.launch({
  executablePath: process.env.HEAPSCOPE_BROWSER,
  args: ["--no-sandbox", "--disable-gpu"],
});
for (const file of process.argv.slice(2)) await measurePage(browser, file);
await browser.close();
