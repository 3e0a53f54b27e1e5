/*
 * Includes go in one direction: style, format, state, download < data < controls < shell < graph <
 * views. A view includes no other view.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { expect, it } from "vitest";

const SRC = join(__dirname, "../src");
/* What a folder or a file of src/ may include besides itself. Views are what has no line here. */
const MAY: Record<string, readonly string[]> = {
  "format.ts": [],
  "state.ts": [],
  "download.ts": [],
  style: [],
  data: ["format.ts", "state.ts"],
  controls: ["format.ts", "state.ts", "download.ts", "data"],
  /* views.ts: the list of views, which the shell draws. */
  shell: ["format.ts", "state.ts", "data", "controls", "views.ts"],
  /* What several views draw. */
  graph: ["format.ts", "state.ts", "data", "controls", "shell"],
};
const VIEW = [
  "format.ts",
  "state.ts",
  "download.ts",
  "data",
  "controls",
  "shell",
  "graph",
  "views.ts",
];
const TOP = ["main.tsx", "views.ts"];

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) =>
  /\.tsx?$/.test(name),
);

it.each(files)("%s", (name) => {
  const own = name.split("/")[0];
  const text = readFileSync(join(SRC, name), "utf8");
  if (TOP.includes(name)) return;
  for (const match of text.matchAll(/(?:from|import) "(\.[^"]+)"/g)) {
    const path = normalize(join(name, "..", match[1]));
    const other = path.split("/")[0];
    if (other === own) continue;
    /* The type of a view's properties is in the list of views; its values are for the shell. */
    if (other === "views.ts" && own !== "shell") {
      expect(text).toMatch(/import type \{[^}]*\} from "\.\.\/views\.ts"/);
    }
    expect(MAY[own] ?? VIEW, `${name} includes ${path}`).toContain(other);
  }
});
