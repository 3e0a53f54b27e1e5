/*
 * A plugin of Vite that puts the script and the style into the HTML file, and names the script's
 * hash in the page's Content-Security-Policy.
 *
 * A file that is opened from disk may not load modules of other files. And a page whose policy
 * allows one script by its hash runs no other one, whatever a name in a profile contains.
 *
 * Ensures   the script cannot end its element: "</script" and "<!--" do not occur in it.
 */
import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/* What would end a script element early, or change how its rest is read, in a form that is the same
 * in strings, templates and regular expressions. */
export function escapeScript(code: string): string {
  return code.replace(/<(\/script|script|!--)/gi, (_, rest: string) =>
    rest.startsWith("/") ? `<\\${rest}` : `\\x3C${rest}`,
  );
}

export function scriptHash(code: string): string {
  return `sha256-${createHash("sha256").update(code, "utf8").digest("base64")}`;
}

/* The HTML file with its references to script and style replaced by their text. */
export function inlineInto(html: string, script: string, style: string): string {
  const code = `\n${escapeScript(script).trim()}\n`;
  return html
    .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
    .replace(/\s*<script type="module"[^>]*><\/script>/g, "")
    .replace("__SCRIPT_HASH__", () => scriptHash(code))
    .replace("<!--style-->", () => `<style>\n${style.trim()}\n</style>`)
    .replace("<!--script-->", () => `<script type="module">${code}</script>`);
}

export function inlinePage(): Plugin {
  return {
    name: "inline-page",
    apply: "build",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          script += file.code;
        } else if (name.endsWith(".css")) {
          style += String(file.source);
        } else {
          continue;
        }
        delete bundle[name];
      }
      const page = bundle["index.html"];
      if (!page || page.type !== "asset" || !script || !style) {
        this.error("the page, its script or its style is missing");
      }
      page.source = inlineInto(String(page.source), script, style);
    },
  };
}
