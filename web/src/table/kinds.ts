/*
 * What a table has a row for: functions, stacks, types, threads, heaps, modules, scopes, processes;
 * and how the rows are called.
 */
import {
  functionName,
  functionOfNode,
  moduleName,
  partName,
  processTitle,
  shortName,
} from "../data/names.ts";
import type { Profile } from "../data/profile.ts";

export const KINDS = [
  "functions",
  "stacks",
  "types",
  "threads",
  "heaps",
  "modules",
  "scopes",
  "processes",
] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_TITLES: Readonly<Record<Kind, string>> = {
  functions: "Functions",
  stacks: "Stacks",
  types: "Types",
  threads: "Threads",
  heaps: "Heaps",
  modules: "Modules",
  scopes: "Scopes",
  processes: "Processes",
};

/* Kinds that are parts of rows. */
export const PART_OF = { types: "type", threads: "thread", scopes: "scope" } as const;

export function isPart(kind: Kind): kind is keyof typeof PART_OF {
  return kind in PART_OF;
}

/* Ids begin at -2: scopes have two kinds of rows without an entry in their table. */
const BEFORE = 2;

/* How many keys there are; a key is the id of a row (an index, -1 or -2) and BEFORE. */
export function keyCount(profile: Profile, kind: Kind): number {
  const counts: Record<Kind, number> = {
    functions: profile.functions.count,
    stacks: profile.tree.count,
    types: profile.types.count,
    threads: profile.threads.count,
    heaps: profile.heaps.length,
    modules: profile.modules.count,
    scopes: profile.scopes.count,
    processes: profile.processes.length,
  };
  return counts[kind] + BEFORE;
}

export const idOfKey = (key: number): number => key - BEFORE;
export const keyOfId = (id: number): number => id + BEFORE;

/* The key of the address with which the selection is narrowed to a row; null: there is none. */
export function filterKey(kind: Kind): string | null {
  if (isPart(kind)) return PART_OF[kind];
  return { heaps: "heap", processes: "process" }[kind as string] ?? null;
}

export interface RowName {
  text: string;
  whole: string;
  /* In smaller letters below it. */
  detail: string;
}

const named = (text: string, detail = ""): RowName => ({ text, whole: text, detail });
const CALLERS_SHOWN = 3;

function stackName(profile: Profile, node: number): RowName {
  const callers = [];
  let at = profile.tree.parent[node];
  for (; at >= 0 && callers.length < CALLERS_SHOWN; at = profile.tree.parent[at]) {
    callers.push(shortName(profile, functionOfNode(profile, at)));
  }
  const index = functionOfNode(profile, node);
  const detail = callers.length > 0 ? `← ${callers.join(" ← ")}${at >= 0 ? " ← …" : ""}` : "";
  return { text: shortName(profile, index), whole: functionName(profile, index), detail };
}

function moduleRow(profile: Profile, id: number): RowName {
  if (id < 0) return named("no module");
  const { path, name } = profile.modules;
  const text = profile.strings[name[id]] || "without a name";
  return { text, whole: profile.strings[path[id]] || text, detail: profile.strings[path[id]] };
}

export function rowName(profile: Profile, kind: Kind, id: number): RowName {
  if (isPart(kind)) {
    const detail = kind === "threads" && id >= 0 ? `thread ${profile.threads.tid[id]}` : "";
    return named(partName(profile, PART_OF[kind], id), detail);
  }
  switch (kind) {
    case "functions":
      return {
        text: shortName(profile, id),
        whole: functionName(profile, id),
        detail: moduleName(profile, id),
      };
    case "stacks":
      return stackName(profile, id);
    case "heaps":
      return named(profile.heaps[id].name);
    case "processes":
      return named(processTitle(profile, id), profile.processes[id].exe);
    default:
      return moduleRow(profile, id);
  }
}
