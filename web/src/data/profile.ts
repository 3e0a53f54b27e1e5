/*
 * The profile as the page works with it: names, the call tree, processes, snapshots, counters, made
 * of the document "profile". The rows of a snapshot and the reports are read when they are needed.
 *
 * Ensures   parent[i] < i for each node; every index lies in its table.
 */
import { addUp, FormatError, indices, integers, tableCount } from "./columns.ts";
import { makeLoader, type Loader } from "./loader.ts";
import type {
  IntervalChange,
  LossTime,
  Ledger,
  Process,
  ProfileFile,
  RawProfile,
  RawTable,
  RawTrack,
  Report,
  Snapshot,
} from "./documents.ts";
import { LARGE_TREE, placedParents, placedValues, preorderPlaces } from "./preorder.ts";
import { decodeRows, type RowLimits, type Rows } from "./rows.ts";
import { readRows } from "./rows_reader.ts";
import type { DataSource } from "./source.ts";
import { makeVisible } from "./visible.ts";

const FORMAT = 1;
/* Rows of so many snapshots are kept: a million stacks take some 200 MB a snapshot. */
const ROWS_KEPT = 6;

export const ROOT = -1;

export enum FunctionClass {
  Program,
  StandardLibrary,
  Runtime,
  Allocator,
  ThreadStart,
  Marker,
}

export enum FunctionKind {
  Native,
  Jit,
  Interpreted,
  Marker,
}

export interface Modules {
  count: number;
  path: Int32Array;
  name: Int32Array;
  buildId: Int32Array;
  isProgram: Int32Array;
}

export interface Functions {
  count: number;
  name: Int32Array;
  short: Int32Array;
  /* -1: none */
  module: Int32Array;
  file: Int32Array;
  class: Int32Array;
  kind: Int32Array;
  isNameless: Int32Array;
  isWrapper: Int32Array;
  folded: Int32Array;
  same: Int32Array;
}

export interface Frames {
  count: number;
  function: Int32Array;
  file: Int32Array;
  line: Int32Array;
  isInlined: Int32Array;
}

export interface Tree {
  count: number;
  /* ROOT: outermost */
  parent: Int32Array;
  frame: Int32Array;
  /* For each node of the file, its number here; null: it has the same. */
  places: Int32Array | null;
}

export interface Track extends Omit<RawTrack, "time_ms" | "value" | "count"> {
  timeMs: Float64Array;
  value: Float64Array;
}

export interface Profile {
  title: string;
  generator: string;
  strings: readonly string[];
  files: readonly ProfileFile[];
  processes: readonly Process[];
  snapshots: readonly Snapshot[];
  modules: Modules;
  functions: Functions;
  frames: Frames;
  tree: Tree;
  heaps: readonly { name: string }[];
  threads: { count: number; process: Int32Array; tid: Int32Array; name: Int32Array };
  types: { count: number; name: Int32Array; isGiven: Int32Array };
  scopes: { count: number; name: Int32Array; parent: Int32Array };
  ages: readonly number[];
  tracks: readonly Track[];
  changes: readonly IntervalChange[];
  lossTimes: readonly LossTime[];
  leftOut: string | null;
  /* The rows of a snapshot; null where they are not in the page. */
  rows: Loader<number, Rows | null>;
  /* The report of a file. */
  report: Loader<number, Report>;
  /* The ledger of a snapshot; null: not recorded. */
  ledger: Loader<number, Ledger | null>;
  /* What grows over the snapshots of a process; null: too few snapshots. */
  trend: Loader<number, Record<string, unknown> | null>;
}

function decodeTree(raw: RawTable, frameCount: number): Tree {
  const count = tableCount(raw, "tree");
  const parent = integers(raw["up"], count, "tree.up");
  for (let i = 0; i < count; i++) {
    const up = parent[i];
    if (up < 0 || up > i) throw new FormatError(`node ${i} has no parent`);
    parent[i] = up === 0 ? ROOT : i - up;
  }
  const frame = indices(raw["frame"], count, frameCount, "tree.frame");
  const places = count < LARGE_TREE ? null : preorderPlaces(parent);
  if (!places) return { count, parent, frame, places };
  return {
    count,
    parent: placedParents(parent, places),
    frame: placedValues(frame, places),
    places,
  };
}

function decodeTrack(raw: RawTrack): Track {
  const { time_ms, value, count, ...rest } = raw;
  if (time_ms.length !== count || value.length !== count) {
    throw new FormatError(`the counter ${raw.name} has columns of different lengths`);
  }
  const track = { ...rest, timeMs: Float64Array.from(time_ms), value: Float64Array.from(value) };
  addUp(track.timeMs);
  addUp(track.value);
  return track;
}

function decodeNames(raw: RawProfile) {
  const stringCount = raw.strings.length;
  const moduleCount = tableCount(raw.modules, "modules");
  const functionCount = tableCount(raw.functions, "functions");
  const frameCount = tableCount(raw.frames, "frames");
  const text = (table: RawTable, name: string, column: string) =>
    indices(table[column], table.count, stringCount, `${name}.${column}`);
  const number = (table: RawTable, name: string, column: string) =>
    integers(table[column], table.count, `${name}.${column}`);
  const m = raw.modules;
  const f = raw.functions;
  const modules: Modules = {
    count: moduleCount,
    path: text(m, "modules", "path"),
    name: text(m, "modules", "name"),
    buildId: text(m, "modules", "build_id"),
    isProgram: number(m, "modules", "is_program"),
  };
  const functions: Functions = {
    count: functionCount,
    name: text(f, "functions", "name"),
    short: text(f, "functions", "short"),
    module: indices(f["module"], functionCount, moduleCount, "functions.module", -1),
    file: text(f, "functions", "file"),
    class: number(f, "functions", "class"),
    kind: number(f, "functions", "kind"),
    isNameless: number(f, "functions", "is_nameless"),
    isWrapper: number(f, "functions", "is_wrapper"),
    folded: text(f, "functions", "folded"),
    same: number(f, "functions", "same"),
  };
  const frames: Frames = {
    count: frameCount,
    function: indices(raw.frames["function"], frameCount, functionCount, "frames.function"),
    file: text(raw.frames, "frames", "file"),
    line: number(raw.frames, "frames", "line"),
    isInlined: number(raw.frames, "frames", "is_inlined"),
  };
  const { threads, types, scopes } = raw;
  return {
    modules,
    functions,
    frames,
    tree: decodeTree(raw.tree, frameCount),
    threads: {
      count: tableCount(threads, "threads"),
      process: indices(threads["process"], threads.count, raw.processes.length, "threads.process"),
      tid: number(threads, "threads", "tid"),
      name: text(threads, "threads", "name"),
    },
    types: {
      count: tableCount(types, "types"),
      name: text(types, "types", "name"),
      isGiven: number(types, "types", "is_given"),
    },
    scopes: {
      count: tableCount(scopes, "scopes"),
      name: text(scopes, "scopes", "name"),
      parent: indices(scopes["parent"], scopes.count, scopes.count, "scopes.parent", -1),
    },
  };
}

function checkObjects(raw: RawProfile): void {
  const inTable = (index: number, table: readonly unknown[], what: string) => {
    if (!(index >= 0 && index < table.length)) throw new FormatError(`${what} ${index} is missing`);
  };
  for (const process of raw.processes) inTable(process.file, raw.files, "file");
  for (const snapshot of raw.snapshots) {
    inTable(snapshot.process, raw.processes, "process");
    for (const heap of snapshot.heaps) inTable(heap.heap, raw.heaps, "heap");
  }
  for (const time of raw.loss_times) inTable(time.process, raw.processes, "process");
  for (const file of raw.files) {
    for (const snapshot of file.selected) inTable(snapshot, raw.snapshots, "snapshot");
  }
}

/* A copy of what a worker needs to know of the profile. */
function limitsOf({ tree, heaps, threads, types, scopes, ages }: Profile): RowLimits {
  return {
    tree: { count: tree.count, places: tree.places },
    heaps: { length: heaps.length },
    threads: { count: threads.count },
    types: { count: types.count },
    scopes: { count: scopes.count },
    ages: { length: ages.length },
  };
}

async function rowsOf(profile: Profile, source: DataSource, name: string): Promise<Rows> {
  if (!source.bytes) return decodeRows(await source.load(name), profile);
  const { bytes, isGzip } = await source.bytes(name);
  return readRows({ bytes, isGzip, limits: limitsOf(profile) });
}

export function decodeProfile(raw: RawProfile, source: DataSource): Profile {
  if (raw.format !== FORMAT) {
    throw new FormatError(`the data have format ${raw.format}; this page reads format ${FORMAT}`);
  }
  checkObjects(raw);
  const names = decodeNames(raw);
  const profile: Profile = {
    title: raw.title,
    generator: raw.generator,
    strings: raw.strings,
    files: raw.files,
    processes: raw.processes,
    snapshots: raw.snapshots,
    ...names,
    heaps: raw.heaps,
    ages: raw.ages,
    tracks: raw.tracks.map(decodeTrack),
    changes: raw.changes,
    lossTimes: raw.loss_times,
    leftOut: raw.left_out?.text ?? null,
    rows: makeLoader(ROWS_KEPT, async (index) => {
      const name = raw.snapshots[index].rows;
      if (name === null) return null;
      return rowsOf(profile, source, name);
    }),
    report: makeLoader(Infinity, async (file) => source.load<Report>(raw.files[file].report)),
    ledger: makeLoader(Infinity, async (index) => {
      const name = raw.snapshots[index].ledger;
      return name === null ? null : source.load<Ledger>(name);
    }),
    trend: makeLoader(Infinity, async (process) => {
      const name = raw.processes[process].trend;
      return name === null ? null : source.load<Record<string, unknown>>(name);
    }),
  };
  return profile;
}

/* Reads the document "profile", which names the others. */
export async function openProfile(source: DataSource): Promise<Profile> {
  const checked: DataSource = {
    ...source,
    load: async <T>(name: string) => makeVisible(await source.load<T>(name)),
  };
  return decodeProfile(await checked.load<RawProfile>("profile"), checked);
}
