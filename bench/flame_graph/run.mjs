/*
 * Measures in a headless Chromium, for each library: the time from data in memory to the first
 * picture on the screen, to the picture after a zoom, the JavaScript memory, and the size of the
 * minified script. Prints a table; figures are medians of ROUNDS pages.
 *
 * HEAPSCOPE_BROWSER names the browser, HEAPSCOPE_PLAYWRIGHT the folder of playwright-core.
 */
import { build } from "esbuild";
import { gzipSync } from "node:zlib";

const { chromium } = await import(`${process.env.HEAPSCOPE_PLAYWRIGHT}/index.mjs`);
const COUNT = Number(process.argv[2] ?? 100000);
const ROUNDS = 5;
const NAMES = {
  own: ["web/src/graph", "own.ts", 1],
  d3: ["d3-flame-graph", "d3_flame_graph.js", 0],
  d3least: ["d3-flame-graph, boxes of 1 px and more", "d3_flame_graph.js", 1],
  chart: ["flame-chart-js", "flame_chart_js.js", 0],
  echarts: ["ECharts, custom series", "echarts.js", 0],
};

async function bundled(entry) {
  const options = { entryPoints: [entry], bundle: true, minify: true, write: false, outdir: "out" };
  const { outputFiles } = await build({ ...options, format: "iife", logLevel: "error" });
  const text = (end) => outputFiles.find((file) => file.path.endsWith(end))?.text ?? "";
  return { script: text(".js"), style: text(".css") };
}

/* In the page: resolves when the browser has drawn what the function did. */
function measure([count, leastPx]) {
  const place = document.getElementById("place");
  const drawn = () =>
    new Promise((done) =>
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))),
    );
  const timed = async (what) => {
    const start = performance.now();
    const result = what();
    await drawn();
    return [performance.now() - start, result];
  };
  const data = window.prepare(count, leastPx);
  return (async () => {
    await drawn();
    const [first, chart] = await timed(() => window.first(data, place));
    const [zoom] = await timed(() => window.zoom(chart, place));
    return { first, zoom, megabytes: performance.memory.usedJSHeapSize / 1e6 };
  })();
}

const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const browser = await chromium.launch({
  executablePath: process.env.HEAPSCOPE_BROWSER,
  args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"],
});
const bundles = {};
const results = {};
for (const [key, [, entry]] of Object.entries(NAMES)) {
  bundles[key] = await bundled(entry);
  results[key] = [];
}
/* Round by round, so that what else the machine does meets all of them. */
for (let round = 0; round < ROUNDS; round++) {
  for (const [key, [, , leastPx]] of Object.entries(NAMES)) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    page.setDefaultTimeout(120000);
    await page.setContent(`<style>${bundles[key].style}</style><div id="place"></div>`);
    await page.addScriptTag({ content: bundles[key].script });
    results[key].push(await page.evaluate(measure, [COUNT, leastPx]));
    await page.close();
  }
}
await browser.close();

console.log(`${COUNT} nodes, medians of ${ROUNDS}\n`);
console.log("| | first picture, ms | zoom, ms | memory, MB | script, bytes | gzip |");
console.log("|---|---:|---:|---:|---:|---:|");
for (const [key, [name]] of Object.entries(NAMES)) {
  const of = (what) => Math.round(middle(results[key].map((each) => each[what])));
  const { script } = bundles[key];
  const sizes = `${script.length} | ${gzipSync(script).length}`;
  console.log(`| ${name} | ${of("first")} | ${of("zoom")} | ${of("megabytes")} | ${sizes} |`);
}
