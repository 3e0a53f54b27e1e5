/*
 * A profile of two files, of the same program before and after an update: the second file names its
 * functions in another order, has its modules in other folders, and one function under the name of
 * a compiler's copy. Each file has two processes of one family, with a heap that is sampled
 * coarsely and one that is sampled finely.
 *
 *     file 0    main < load < parse                 file 1    main < load, which holds some itself
 *                                                             main < load < parse.isra.0
 *                                                             main < load < cache
 */
import type { RawProfile, RawRows } from "../src/data/documents.ts";
import { decodeProfile, type Profile } from "../src/data/profile.ts";
import { sampleProfile, sampleRows } from "./sample.ts";

export const COARSE_BYTES = 65536;
export const FINE_BYTES = 64;

const STRINGS = [
  ...["", "main", "load", "parse", "parse.isra.0", "cache"],
  ...["/usr/bin/app", "/usr/lib/liba.so.1", "/opt/new/bin/app", "/opt/new/lib/liba.so.2"],
  ...["app", "liba.so.1", "liba.so.2"],
];

function documentOf(): RawProfile {
  const raw = structuredClone(sampleProfile()) as RawProfile & {
    -readonly [K in keyof RawProfile]: RawProfile[K];
  };
  raw.strings = STRINGS;
  raw.files = [0, 1].map((file) => ({
    ...raw.files[0],
    report: `report-${file}`,
    selected: [2 * file, 2 * file + 1],
  }));
  raw.processes = [0, 0, 1, 1].map((file, i) => ({
    ...raw.processes[0],
    file,
    pid: 40 + i,
    start_ms: i,
    sample_family: file,
    descent_family: file,
  }));
  raw.snapshots = raw.processes.map((_, process) => ({
    ...raw.snapshots[1],
    process,
    weight_bytes: COARSE_BYTES,
    rows: `rows-${process}`,
    heaps: raw.snapshots[1].heaps.map((heap, i) => ({
      ...heap,
      weight_bytes: i === 0 ? COARSE_BYTES : FINE_BYTES,
    })),
  }));
  const [path, name, isProgram] = [
    [6, 7, 8, 9],
    [10, 11, 10, 12],
    [1, 0, 1, 0],
  ];
  raw.modules = { count: 4, path, name, build_id: 0, is_program: isProgram };
  const names = [1, 2, 3, 4, 5, 1, 2];
  raw.functions = {
    ...raw.functions,
    count: 7,
    name: names,
    short: names,
    module: [0, 1, 1, 3, 3, 2, 3],
    same: [0, 1, 2, 2, 3, 0, 1],
  };
  raw.frames = { ...raw.frames, count: 7, function: [0, 1, 2, 3, 4, 5, 6] };
  raw.tree = { count: 7, up: [0, 1, 1, 0, 1, 1, 2], frame: [0, 1, 2, 5, 6, 3, 4] };
  return raw;
}

/* A row of each heap for each of these nodes, which are given as steps. */
function rowsOf(steps: readonly number[], bytes: readonly number[]): RawRows {
  const twice = <T>(list: readonly T[], second: (each: T) => T) =>
    list.flatMap((each) => [each, second(each)]);
  const sizes = twice(bytes, (each) => each);
  const amounts = {
    ...sampleRows().live!,
    bytes: sizes,
    count: sizes.map((each) => each / 100),
    exact_bytes: 0,
    exact_count: 0,
    bytes_var: sizes.map((each, i) => each * (i % 2 === 0 ? COARSE_BYTES : FINE_BYTES)),
    count_var: sizes.map((each) => each / 50),
  };
  return {
    ...sampleRows(),
    count: sizes.length,
    node: twice(steps, () => 0),
    heap: sizes.map((_, i) => i % 2),
    headline: 0,
    live: amounts,
    alloc: amounts,
    parts: { live: null, alloc: null, peak: null },
  };
}

export function twoFiles(): Profile {
  const early = rowsOf([2], [100_000]);
  const late = rowsOf([4, 1, 1], [10_000, 300_000, 40_000]);
  const documents = [early, early, late, late];
  return decodeProfile(documentOf(), {
    isServed: false,
    load: <T>(name: string) => Promise.resolve(documents[Number(name.slice(5))] as T),
  });
}
