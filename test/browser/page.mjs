/*
 * Opens the page in a headless Chromium and notes what a good page never does: errors on the
 * console, exceptions, requests.
 *
 * HEAPSCOPE_PAGE names the HTML file, HEAPSCOPE_BROWSER the browser, HEAPSCOPE_SHOTS a folder for
 * pictures. test/e2e/page_browser.py sets them.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const DESKTOP = { width: 1280, height: 720 };
export const PHONE = { width: 390, height: 844 };
/* Devices and themes. HEAPSCOPE_LOOKS says how many of these a test tries; without it, all. */
export const LOOKS = [
  { device: "desktop", size: DESKTOP, theme: "light" },
  { device: "phone", size: PHONE, theme: "dark" },
  { device: "desktop", size: DESKTOP, theme: "dark" },
  { device: "phone", size: PHONE, theme: "light" },
].slice(0, process.env.HEAPSCOPE_LOOKS);

let browser = null;

export async function startBrowser() {
  browser = await chromium.launch({
    executablePath: process.env.HEAPSCOPE_BROWSER,
    args: ["--no-sandbox", "--disable-gpu"],
  });
}

export async function stopBrowser() {
  await browser?.close();
}

/* A page that was opened; `problems` are sentences about what it did and should not have done. */
export class OpenPage {
  /* Requests to `origin`, a server of the test, are no problems. */
  constructor(context, page, url, origin = null) {
    this.context = context;
    this.page = page;
    this.url = url;
    this.problems = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) {
        this.problems.push(`console: ${message.text()}`);
      }
    });
    page.on("pageerror", (error) => this.problems.push(`exception: ${error.message}`));
    page.on("request", (request) => {
      const isOwn =
        request.url().split("#")[0] === url ||
        /^(data|blob):/.test(request.url()) ||
        (origin !== null && new URL(request.url()).origin === origin);
      if (!isOwn) this.problems.push(`request: ${request.url()}`);
    });
  }

  /* Waits until no part of the page says that it is still reading. */
  async settle() {
    await this.page.waitForSelector("main, .shell-failure");
    await this.page.waitForFunction(() => !document.querySelector(".loading"));
  }

  /* Goes to an address of the page, as its links do. */
  async go(fragment) {
    await this.page.evaluate((hash) => (location.hash = hash), fragment);
    await this.settle();
  }

  /* The ids of the views, as the navigation offers them. */
  async views() {
    return this.page.$$eval("nav[aria-label=Views] a", (links) =>
      links.map((link) => new URLSearchParams(link.hash.slice(1)).get("view") ?? ""),
    );
  }

  /* What axe-core finds against WCAG 2.x A and AA, as sentences. */
  async violations() {
    if (!(await this.page.evaluate(() => "axe" in window))) await this.page.evaluate(AXE);
    return this.page.evaluate(async () => {
      const found = await window.axe.run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      });
      return found.violations.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.target}: ${node.failureSummary}`),
      );
    });
  }

  /* Elements that stick out of the window to the right, outside of what scrolls by itself. */
  async overflowing() {
    return this.page.evaluate(() => {
      const width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= width) return [];
      return [...document.querySelectorAll("body *")]
        .filter((element) => element.getBoundingClientRect().right > width + 1)
        .map((element) => `${element.tagName}.${element.className} sticks out`);
    });
  }

  async shot(name) {
    const folder = process.env.HEAPSCOPE_SHOTS;
    if (folder) await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }

  async close() {
    await this.context.close();
  }
}

/* A tab in which nothing is open yet. */
export async function newPage({ size = DESKTOP, theme = "light" } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme });
  return context.newPage();
}

export async function openPage({
  size = DESKTOP,
  theme = "light",
  fragment = "",
  file,
  hasTouch = false,
} = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, hasTouch });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  const url = pathToFileURL(file ?? process.env.HEAPSCOPE_PAGE).href;
  const opened = new OpenPage(context, page, url);
  await page.goto(url + fragment);
  await opened.settle();
  return opened;
}

/* A page of `heapscope ui`; `link` is what the command printed. */
export async function openServed(link, { size = DESKTOP, theme = "light", fragment = "" } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  const opened = new OpenPage(context, page, link, new URL(link).origin);
  await page.goto(link + fragment);
  await opened.settle();
  return opened;
}
