/*
 * The colours of boxes: by module, by kind of function, by type of the blocks, or by change. Each
 * has a legend, in which the colours are named; changes also have a sign in front of the name of
 * the function.
 */
import type { TreeNode } from "../data/call_tree.ts";
import { figuresByNode } from "../data/figures.ts";
import type { Verdict } from "../data/margin.ts";
import { moduleName, partName } from "../data/names.ts";
import { FunctionClass, FunctionKind, type Profile } from "../data/profile.ts";
import { placed, withCallees } from "../data/select_stacks.ts";
import { breakdown } from "../data/breakdown.ts";
import type { GraphModel } from "./model.ts";

export const COLOUR_MODES = ["module", "kind", "type", "change"] as const;
export type ColourMode = (typeof COLOUR_MODES)[number];

export const COLOUR_TITLES: Readonly<Record<ColourMode, string>> = {
  module: "Module",
  kind: "Kind",
  type: "Type",
  change: "Change",
};

export interface LegendEntry {
  name: string;
  /* a variable of style/theme.css */
  colour: string;
}

export interface Colouring {
  of: (node: TreeNode) => string;
  /* A sign in front of the name, "" where there is none. */
  sign: (node: TreeNode) => string;
  legend: readonly LegendEntry[];
}

const NAMED = 7;
const REST = "--tint-8";
const tint = (i: number) => `--tint-${i + 1}`;
const noSign = () => "";

/* The area of the boxes of each module: what their functions allocated, and those they called. */
function areaByModule({ profile, stacks, values }: GraphModel): Map<string, number> {
  const area = withCallees(stacks, placed(stacks, values));
  const byFunction = new Float64Array(profile.functions.count);
  const isDrawn = new Uint8Array(profile.functions.count);
  for (let node = 0; node < area.length; node++) {
    if (!stacks.isShown[node]) continue;
    const index = stacks.functionOf[node];
    byFunction[index] += area[node];
    isDrawn[index] = 1;
  }
  const sums = new Map<string, number>();
  isDrawn.forEach((drawn, index) => {
    if (!drawn) return;
    const name = moduleName(profile, index);
    sums.set(name, (sums.get(name) ?? 0) + byFunction[index]);
  });
  return sums;
}

function byModule(model: GraphModel): Colouring {
  const { profile } = model;
  const names = Array.from({ length: profile.functions.count }, (_, i) => moduleName(profile, i));
  const sums = areaByModule(model);
  sums.delete("");
  const order = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const colours = new Map(order.slice(0, NAMED).map((name, i) => [name, tint(i)]));
  const legend: LegendEntry[] = order.slice(0, NAMED).map((name, i) => ({ name, colour: tint(i) }));
  if (order.length > NAMED) legend.push({ name: "other modules", colour: REST });
  return {
    of: (node) => colours.get(names[model.functionOf(node)]) ?? REST,
    sign: noSign,
    legend,
  };
}

const KINDS: readonly [string, string][] = [
  ["program and libraries", tint(0)],
  ["standard library of a language", tint(5)],
  ["interpreter or virtual machine", tint(3)],
  ["allocator", tint(1)],
  ["start of a thread", tint(6)],
  ["no function", REST],
  ["interpreted function", tint(2)],
  ["compiled at run time", tint(4)],
];

function kindOf(profile: Profile, index: number): number {
  const { kind, class: classOf } = profile.functions;
  if (kind[index] === FunctionKind.Interpreted) return 6;
  if (kind[index] === FunctionKind.Jit) return 7;
  return Math.min(classOf[index], FunctionClass.Marker);
}

function byKind(model: GraphModel): Colouring {
  const { profile, stacks } = model;
  const seen = new Set<number>();
  stacks.isShown.forEach((isShown, node) => {
    if (isShown) seen.add(kindOf(profile, stacks.functionOf[node]));
  });
  return {
    of: (node) => KINDS[kindOf(profile, model.functionOf(node))][1],
    sign: noSign,
    legend: KINDS.filter((_, i) => seen.has(i)).map(([name, colour]) => ({
      name,
      colour,
    })),
  };
}

/* Of which type most of the memory of a box is; null where the file has no types. */
function byType(model: GraphModel): Colouring | null {
  const { profile, tree } = model;
  const { rows, selection } = model.spec;
  const parts = breakdown(profile, rows, selection, "type");
  if (!parts) return null;
  const known = parts.filter((part) => part.id > 0).slice(0, NAMED);
  const columns = known.map(({ id }) => {
    const only = { ...selection, parts: { ...selection.parts, type: id } };
    return model.columnOf(figuresByNode(profile, rows, only).value);
  });
  const colourOf = (node: TreeNode) => {
    const totals = columns.map((column) => tree.totalOf(node, column));
    const most = totals.indexOf(Math.max(...totals));
    const rest = node.total - totals.reduce((sum, total) => sum + total, 0);
    return most >= 0 && totals[most] > 0 && totals[most] >= rest ? tint(most) : REST;
  };
  const legend: LegendEntry[] = known.map(({ id }, i) => ({
    name: partName(profile, "type", id),
    colour: tint(i),
  }));
  legend.push({ name: "another type, or unknown", colour: REST });
  return { of: colourOf, sign: noSign, legend };
}

const GREW = "--grew-tint";
const SHRANK = "--shrank-tint";
const NOISE = "--noise-tint";
const VERDICTS: Readonly<Record<Verdict, [string, string]>> = {
  same: [NOISE, ""],
  noise: [NOISE, "≈ "],
  grew: [GREW, "▲ "],
  new: [GREW, "▲ "],
  shrank: [SHRANK, "▼ "],
  gone: [SHRANK, "▼ "],
};

function byChange(model: GraphModel): Colouring | null {
  if (!model.isComparison) return null;
  const verdict = (node: TreeNode) => VERDICTS[model.change(node)?.verdict ?? "same"];
  return {
    of: (node) => verdict(node)[0],
    sign: (node) => verdict(node)[1],
    legend: [
      { name: "▲ grew", colour: GREW },
      { name: "▼ shrank", colour: SHRANK },
      { name: "≈ may be chance, or did not change", colour: NOISE },
    ],
  };
}

/* null: the data do not have what the boxes are to be coloured by. */
export function colouringOf(model: GraphModel, mode: ColourMode): Colouring | null {
  switch (mode) {
    case "module":
      return byModule(model);
    case "kind":
      return byKind(model);
    case "type":
      return byType(model);
    case "change":
      return byChange(model);
  }
}
