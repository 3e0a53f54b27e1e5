/* inline_page.ts: a script cannot end its element, and the policy names the script's hash. */
import { expect, it } from "vitest";

import { escapeScript, inlineInto, scriptHash } from "../inline_page.ts";

const HTML =
  "<meta content=\"script-src '__SCRIPT_HASH__'\"><!--style-->" +
  '<link rel="stylesheet" crossorigin href="/a.css"><!--heapscope-data--><!--script-->' +
  '<script type="module" crossorigin src="/a.js"></script>';

it("escapes what ends or changes a script element", () => {
  const code = 'a="</script>";b="<!--";c="<SCRIPT";d=1<2';
  const escaped = escapeScript(code);
  expect(escaped).not.toMatch(/<\/script|<!--|<script/i);
  expect(new Function(`${escaped};return [a,b,c,d]`)()).toEqual([
    "</script>",
    "<!--",
    "<SCRIPT",
    true,
  ]);
});

it("puts script and style into the page, whatever they contain", () => {
  const page = inlineInto(HTML, "let a = '$& $1 $$';", "b { color: red }");
  const script = /<script type="module">([^]*)<\/script>/.exec(page)?.[1] ?? "";
  expect(script.trim()).toBe("let a = '$& $1 $$';");
  expect(page).toContain(`script-src '${scriptHash(script)}'`);
  expect(page).toContain("<style>\nb { color: red }\n</style>");
  expect(page).toContain("<!--heapscope-data-->");
  expect(page).not.toContain("href=");
  expect(page).not.toContain("src=");
});
