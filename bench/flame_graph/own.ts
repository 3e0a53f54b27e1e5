/* The page's own flame graph: web/src/graph, from the columns of a profile to the picture. */
import { sampleProfile } from "../../web/test/sample.ts";
import { CallTree } from "../../web/src/data/call_tree.ts";
import { decodeProfile } from "../../web/src/data/profile.ts";
import { filterStacks } from "../../web/src/data/select_stacks.ts";
import { layOut } from "../../web/src/graph/layout.ts";
import { fitting, formsOf } from "../../web/src/graph/labels.ts";
import { paint } from "../../web/src/graph/paint.ts";
import "../../web/src/style/theme.css";
import { makeTree } from "./tree.js";

function profileOf({ count, parent, func }) {
  const raw = sampleProfile();
  const names = Array.from(
    { length: 5000 },
    (_, i) => `namespace::function_${i}(int, char const*)`,
  );
  const list = names.map((_, i) => i + 1);
  raw.strings = ["", ...names, "/bin/sample", "sample"];
  raw.modules = { ...raw.modules, path: [names.length + 1], name: [names.length + 2] };
  raw.functions = { ...raw.functions, count: names.length, name: list, short: list, same: list };
  raw.frames = { ...raw.frames, count: names.length, function: names.map((_, i) => i) };
  const up = Array.from(parent, (each: number, i) => (each < 0 ? 0 : i - each));
  raw.tree = { count, up, frame: Array.from(func as Int32Array) };
  raw.threads = { count: 0, process: [], tid: [], name: [] };
  return decodeProfile(raw, { isServed: false, load: () => Promise.reject(new Error("none")) });
}

function draw(tree: CallTree, zoomed, profile, context: CanvasRenderingContext2D) {
  const layout = layOut(tree, zoomed, 1280);
  const picture = {
    layout,
    isFlame: false,
    colour: () => "--tint-2",
    label: (box, width, measure) =>
      box.node ? fitting(formsOf(profile, box.node.key), width, measure) : "all",
    figure: () => "",
    isFound: null,
    focused: null,
    hovered: null,
  };
  paint(context, picture, 0, 700);
}

window.prepare = (count) => {
  const columns = makeTree(count);
  return { profile: profileOf(columns), self: columns.self };
};

window.first = ({ profile, self }, place) => {
  const canvas = document.createElement("canvas");
  canvas.width = 1280;
  canvas.height = 700;
  place.append(canvas);
  const context = canvas.getContext("2d");
  const stacks = filterStacks(profile, []);
  const tree = new CallTree(stacks, self, stacks.functionOf, profile.functions.count);
  draw(tree, null, profile, context);
  return { tree, profile, context };
};

window.zoom = ({ tree, profile, context }) => {
  let at = tree.roots[0];
  for (let i = 0; i < 3; i++) at = tree.childrenOf(at)[0] ?? at;
  draw(tree, at, profile, context);
};
