/*
 * Names of functions, modules, frames, processes and snapshots, as views show them.
 */
import { duration } from "../format.ts";
import { FunctionKind, ROOT, type Profile } from "./profile.ts";
import type { PartKey } from "./selection.ts";

/* Counters of a process that several views show. */
export const RSS_TRACK = "mem.rss";
export const LIVE_TRACK = "heap.live";

export function functionName(profile: Profile, index: number): string {
  return profile.strings[profile.functions.name[index]] || "[no name]";
}

/*
 * Without template arguments and parameters. The names of interpreted functions are whole: what
 * stands between angle brackets is part of the name there ("<module>").
 */
export function shortName(profile: Profile, index: number): string {
  if (profile.functions.kind[index] === FunctionKind.Interpreted) {
    return functionName(profile, index);
  }
  return profile.strings[profile.functions.short[index]] || functionName(profile, index);
}

/* The file name of the module of a function, or of the script that it is in; "": there is none. */
export function moduleName(profile: Profile, index: number): string {
  const file = profile.functions.file[index];
  if (file > 0) return profile.strings[file].replace(/^.*\//, "");
  const module = profile.functions.module[index];
  return module < 0 ? "" : profile.strings[profile.modules.name[module]];
}

/* Whether a function is of the program itself, and not of a library or a script. */
export function isOfProgram(profile: Profile, index: number): boolean {
  const module = profile.functions.module[index];
  const isScript = profile.functions.file[index] > 0;
  return !isScript && module >= 0 && profile.modules.isProgram[module] === 1;
}

/* "file.c:12", "file.c", or "". */
export function sourceLine(profile: Profile, frame: number): string {
  const file = profile.strings[profile.frames.file[frame]];
  const line = profile.frames.line[frame];
  return file && line > 0 ? `${file}:${line}` : file;
}

export function functionOfNode(profile: Profile, node: number): number {
  return profile.frames.function[profile.tree.frame[node]];
}

/* The nodes from this one to the outermost. */
export function stackOf(profile: Profile, node: number): number[] {
  const stack = [];
  for (let at = node; at !== ROOT; at = profile.tree.parent[at]) stack.push(at);
  return stack;
}

export function processName(profile: Profile, index: number): string {
  const process = profile.processes[index];
  return process.name || `process ${process.pid}`;
}

/* "redis-server (pid 4711)" where there are several processes, else the name alone. */
export function processTitle(profile: Profile, index: number): string {
  const name = processName(profile, index);
  return profile.processes.length > 1 ? `${name} (pid ${profile.processes[index].pid})` : name;
}

/* When a snapshot was taken: '"loaded", 3.20 s', "at the end, 12.1 s". */
export function snapshotTitle(profile: Profile, index: number): string {
  const snapshot = profile.snapshots[index];
  const start = profile.processes[snapshot.process].start_ms ?? 0;
  const time = snapshot.time_ms === null ? "" : duration((snapshot.time_ms - start) / 1000);
  const what = snapshot.name
    ? `“${snapshot.name}”`
    : snapshot.is_final
      ? "at the end"
      : `snapshot ${snapshot.number}`;
  return time ? `${what}, ${time}` : what;
}

/* The name of the thread, type, scope or class of ages that a filter names. */
export function partName(profile: Profile, key: PartKey, value: number): string {
  if (key === "age") {
    const from = profile.ages[value];
    return from === undefined ? "not recorded" : `${duration(from / 1000)} and older`;
  }
  const table = { thread: profile.threads, type: profile.types, scope: profile.scopes }[key];
  if (value < 0 || value >= table.count) return key === "scope" && value === -1 ? "none" : "others";
  return profile.strings[table.name[value]] || (key === "type" ? "unknown" : "without a name");
}
