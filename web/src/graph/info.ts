/*
 * What is known of one box, as texts: for the tooltip, the panel below the graph and screen
 * readers.
 */
import { pathOf, type TreeNode } from "../data/call_tree.ts";
import { isLossy } from "../data/figures.ts";
import { marginOf } from "../data/margin.ts";
import { functionName, moduleName, sourceLine } from "../data/names.ts";
import { margin, plural, share, signed } from "../format.ts";
import type { Box } from "./layout.ts";
import type { GraphModel } from "./model.ts";

export interface Info {
  name: string;
  facts: readonly { title: string; text: string }[];
}

/* Lines are collected of so many frames: a function of a large program has thousands of callers. */
const FRAMES_READ = 1000;
const LINES_NAMED = 3;

/* "parse.c:12, parse.c:30 and 2 other lines"; "" where none is known. */
export function linesOf(model: GraphModel, node: TreeNode): string {
  const { profile } = model;
  const lines = new Set<string>();
  for (const entry of model.entriesOf(node).slice(0, FRAMES_READ)) {
    const line = sourceLine(profile, profile.tree.frame[entry]);
    if (line) lines.add(line);
  }
  const all = [...lines];
  const others = all.length - LINES_NAMED;
  const named = all.slice(0, LINES_NAMED).join(", ");
  return others > 0 ? `${named} and ${plural(others, "other line")}` : named;
}

const WORDS = {
  same: "did not change",
  noise: "may be chance",
  grew: "grew",
  new: "new",
  shrank: "shrank",
  gone: "gone",
};

function changeFacts(model: GraphModel, node: TreeNode): Info["facts"] {
  const change = model.change(node);
  if (!change) return [];
  const { format } = model.spec.selection.measure;
  const isWithMargin = !isLossyOf(model) && change.high > change.low;
  const interval = `from ${signed(change.low, format)} to ${signed(change.high, format)}`;
  return [
    { title: "Before", text: format(change.before) },
    { title: "Now", text: format(change.after) },
    { title: "Change", text: `${signed(change.delta, format)}, ${WORDS[change.verdict]}` },
    ...(isWithMargin ? [{ title: "Interval of the change", text: interval }] : []),
  ];
}

function isLossyOf(model: GraphModel): boolean {
  const { selection, base } = model.spec;
  const snapshots = [...selection.snapshots, ...(base?.selection.snapshots ?? [])];
  return isLossy(model.profile, snapshots);
}

const intervals = new WeakMap<TreeNode, string>();
const wholeIntervals = new WeakMap<GraphModel, string>();

function computeInterval(model: GraphModel, node: TreeNode | null): string {
  const { format } = model.spec.selection.measure;
  if (isLossyOf(model)) return "not known: something was lost";
  const figure = model.figure(node);
  const { below, above } = marginOf(figure);
  return margin(figure.value, figure.value - below, figure.value + above, format) || "exact";
}

/* "± 1.20 MiB"; computed once, because it reads all rows. */
export function intervalOf(model: GraphModel, node: TreeNode | null): string {
  const known = node ? intervals.get(node) : wholeIntervals.get(model);
  if (known !== undefined) return known;
  const text = computeInterval(model, node);
  if (node) intervals.set(node, text);
  else wholeIntervals.set(model, text);
  return text;
}

function placeFacts(model: GraphModel, node: TreeNode): Info["facts"] {
  const index = model.functionOf(node);
  const module = moduleName(model.profile, index);
  const lines = linesOf(model, node);
  return [
    { title: "Module", text: module ? module : "not known" },
    { title: "Source", text: lines ? lines : "not recorded" },
  ];
}

function wholeInfo(model: GraphModel, name: string): Info {
  const { format, title } = model.spec.selection.measure;
  const before = model.totalBefore;
  const own = { title, text: format(model.total) };
  if (before === null) {
    return { name, facts: [own, { title: "Margin", text: intervalOf(model, null) }] };
  }
  return {
    name,
    facts: [
      { title: "Before", text: format(before) },
      { ...own, title: "Now" },
    ],
  };
}

function nodeInfo(model: GraphModel, node: TreeNode, zoomed: TreeNode | null): Info {
  const { format } = model.spec.selection.measure;
  const name = functionName(model.profile, model.functionOf(node));
  const place = placeFacts(model, node);
  if (model.isComparison) return { name, facts: [...changeFacts(model, node), ...place] };
  const { tree } = model;
  const isInside = zoomed !== null && node !== zoomed && node.total <= zoomed.total;
  const ofZoomed = isInside ? `, ${share(node.total, zoomed.total)} of the zoomed box` : "";
  const isUp = node.depth < 0;
  return {
    name,
    facts: [
      {
        title: isUp ? "Through here" : "Total",
        text: `${format(node.total)}, ${share(node.total, tree.total)}${ofZoomed}`,
      },
      ...(isUp ? [] : [{ title: "Self", text: selfText(model, node) }]),
      { title: "Margin of the total", text: intervalOf(model, node) },
      ...place,
    ],
  };
}

function selfText(model: GraphModel, node: TreeNode): string {
  const { format } = model.spec.selection.measure;
  return `${format(node.self)}, ${share(node.self, model.tree.total)}`;
}

/* "12 smaller boxes" */
export function mergedName(box: Box): string {
  return plural(box.mergedCount, "smaller frame");
}

export function infoOf(model: GraphModel, box: Box, zoomed: TreeNode | null, all: string): Info {
  if (box.node) return nodeInfo(model, box.node, zoomed);
  if (box.mergedCount === 0) return wholeInfo(model, all);
  const { format } = model.spec.selection.measure;
  const text = `${format(box.total)}, ${share(box.total, model.tree.total)}`;
  return { name: mergedName(box), facts: [{ title: "Total", text }] };
}

/* The stack of a box, the outermost function first; with modules and lines if they are wanted. */
export function stackText(model: GraphModel, node: TreeNode, isDetailed: boolean): string {
  const path = pathOf(node);
  const isUp = node.depth < 0;
  const lines = path.map((each) => {
    const index = model.functionOf(each);
    const name = functionName(model.profile, index);
    if (!isDetailed) return name;
    const details = [moduleName(model.profile, index), linesOf(model, each)].filter(Boolean);
    return details.length > 0 ? `${name}  (${details.join(", ")})` : name;
  });
  return `${(isUp ? lines.reverse() : lines).join("\n")}\n`;
}

/* What the picture means, for a reader who has not seen such a graph before. */
export function hintOf({ tree, isComparison }: GraphModel, isFlame: boolean): string {
  const beyond = isFlame ? "above" : "below";
  if (tree.stacks.hasPivot) {
    return "A box is a function. The wider it is, the more was allocated through it.";
  }
  if (tree.direction === "up") {
    return (
      `The functions of the ${isFlame ? "lowest" : "first"} row allocated; ${beyond} each stand ` +
      "its callers. The wider a box, the more was allocated through it."
    );
  }
  const side = isComparison ? ", before or after, whichever is larger" : "";
  return (
    "A box is a function. The wider it is, the more it and the functions " +
    `${beyond} it allocated${side}.`
  );
}
