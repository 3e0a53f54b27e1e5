/*
 * Small profiles for tests of stacks: made of lines such as "main load parse" with what each holds.
 */
import type { RawProfile, RawRows } from "../src/data/documents.ts";
import { decodeProfile, type Profile } from "../src/data/profile.ts";
import { sampleProfile, sampleRows, sampleSource } from "./sample.ts";

export type Stacks = [path: string, value: number][];

interface Made {
  raw: RawProfile;
  values: number[];
}

function madeRaw(stacks: Stacks): Made {
  const names = [...new Set(stacks.flatMap(([path]) => path.split(" ")))];
  const nodes: { parent: number; name: number }[] = [];
  const held: number[] = [];
  for (const [path, value] of stacks) {
    let parent = -1;
    for (const word of path.split(" ")) {
      const name = names.indexOf(word);
      let node = nodes.findIndex((each) => each.parent === parent && each.name === name);
      if (node < 0) node = nodes.push({ parent, name }) - 1;
      parent = node;
    }
    held[parent] = (held[parent] ?? 0) + value;
  }
  const raw: RawProfile = sampleProfile();
  const list = names.map((_, i) => i + 1);
  raw.strings = ["", ...names, "/bin/sample", "sample"];
  raw.modules = { ...raw.modules, path: [names.length + 1], name: [names.length + 2] };
  raw.functions = { ...raw.functions, count: names.length, name: list, short: list, same: list };
  raw.frames = { ...raw.frames, count: names.length, function: names.map((_, i) => i) };
  raw.tree = {
    count: nodes.length,
    up: nodes.map(({ parent }, i) => (parent < 0 ? 0 : i - parent)),
    frame: nodes.map(({ name }) => name),
  };
  raw.threads = { count: 0, process: [], tid: [], name: [] };
  return { raw, values: nodes.map((_, i) => held[i] ?? 0) };
}

/* A profile with these stacks, the outermost function first, and what each holds itself. */
export function made(stacks: Stacks): { profile: Profile; values: Float64Array } {
  const { raw, values } = madeRaw(stacks);
  return { profile: decodeProfile(raw, sampleSource()), values: Float64Array.from(values) };
}

function rowsOf(values: readonly number[]): RawRows {
  const bytes = [...values];
  const amounts = { ...sampleRows().live!, bytes, exact_bytes: bytes, count: 1, exact_count: 1 };
  return {
    ...sampleRows(),
    count: values.length,
    node: [0, ...values.slice(1).map(() => 1)],
    heap: 0,
    headline: 0,
    live: amounts,
    alloc: amounts,
    parts: { live: null, alloc: null, peak: null },
  };
}

/* A profile with two snapshots, each with its rows: the second one has the stacks `after`. */
export function madeTwice(before: Stacks, after: Stacks): Profile {
  const none = (stacks: Stacks): Stacks => stacks.map(([path]) => [path, 0]);
  const { raw, values: later } = madeRaw([...none(before), ...after]);
  const { values: earlier } = madeRaw([...before, ...none(after)]);
  const documents: Record<string, unknown> = {
    "rows-0": rowsOf(earlier),
    "rows-1": rowsOf(later),
  };
  raw.snapshots = raw.snapshots.map((snapshot, i) => ({ ...snapshot, rows: `rows-${i}` }));
  return decodeProfile(raw, {
    isServed: false,
    load: <T>(name: string) => Promise.resolve(documents[name] as T),
  });
}
