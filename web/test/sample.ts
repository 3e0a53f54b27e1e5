/*
 * A small profile in the format of docs/PAGE.md, for tests: one process, two snapshots, two heaps,
 * two threads.
 *
 *     main -> load -> parse      libc.malloc  100 (60 of thread 1, 40 of thread 2)
 *     main -> load               libc.malloc   20
 *     main -> load -> parse      arena         50 (lies in libc.malloc, and is not counted)
 */
import type { Amount, RawAmounts, RawProfile, RawRows, Snapshot } from "../src/data/documents.ts";
import type { DataSource } from "../src/data/source.ts";

const amount = (bytes: number): Amount => ({ bytes, count: bytes / 10 });

function heap(index: number, bytes: number, isCounted: boolean): Snapshot["heaps"][number] {
  return {
    heap: index,
    is_counted: isCounted,
    is_carved: !isCounted,
    parent: isCounted ? -1 : 0,
    is_left_out: false,
    interval_bytes: 1,
    weight_bytes: 1,
    has_sample_counts: false,
    live: amount(bytes),
    alloc: amount(2 * bytes),
    peak: null,
    peak_time_ms: null,
    peak_excess: 0,
    peak_lean: 0,
    peak_common: 0,
  };
}

function snapshot(number: number, bytes: number, rows: string | null): Snapshot {
  return {
    process: 0,
    number,
    name: null,
    is_final: number === 2,
    is_at_max: false,
    time_ms: number * 1000,
    peak_time_ms: null,
    interval_bytes: 1,
    asked_interval_bytes: null,
    weight_bytes: 1,
    has_peak: false,
    is_peak_of_all_heaps: false,
    is_exact: true,
    sample_count: 12,
    recorder_bytes: null,
    recorder_cpu_ms: null,
    rss_bytes: 5000,
    rss_peak_bytes: null,
    live: amount(bytes),
    alloc: amount(2 * bytes),
    peak: null,
    heaps: [heap(0, bytes, true), heap(1, 50, false)],
    rows,
    row_count: rows ? 3 : 0,
    ledger: null,
    has_threads: true,
    has_types: false,
    has_scopes: false,
    types_time_ms: null,
  };
}

export function sampleProfile(): RawProfile {
  return {
    format: 1,
    generator: "heapscope test",
    title: "sample",
    strings: ["", "main", "load", "parse", "/bin/sample", "sample", "worker"],
    files: [
      {
        name: "sample.pftrace",
        origin: null,
        report: "report-0",
        view: "space",
        view_reason: null,
        selected: [1],
        start_unix_ms: 1.7e12,
        end_ms: 2000,
        is_sampled: false,
        is_lossy: false,
        has_filters: false,
      },
    ],
    processes: [
      {
        file: 0,
        pid: 42,
        ppid: 1,
        forked_from_pid: null,
        name: "sample",
        exe: "/bin/sample",
        cmdline: "sample --all",
        start_ms: 0,
        end_ms: 2000,
        end: "exited with status 0",
        refusal: null,
        remedy: null,
        sample_family: 0,
        descent_family: 0,
        trend: null,
      },
    ],
    snapshots: [snapshot(1, 100, null), snapshot(2, 120, "rows-1")],
    modules: { count: 1, path: [4], name: [5], build_id: 0, is_program: 1 },
    functions: {
      count: 3,
      name: [1, 2, 3],
      short: [1, 2, 3],
      module: 0,
      file: 0,
      class: 0,
      kind: 0,
      is_nameless: 0,
      is_wrapper: 0,
      folded: 0,
      same: [0, 1, 2],
    },
    frames: { count: 3, function: [0, 1, 2], file: 0, line: 0, is_inlined: 0 },
    tree: { count: 3, up: [0, 1, 1], frame: [0, 1, 2] },
    heaps: [{ name: "libc.malloc" }, { name: "arena" }],
    threads: { count: 2, process: 0, tid: [42, 43], name: [5, 6] },
    types: { count: 1, name: [0], is_given: 0 },
    scopes: { count: 0, name: [], parent: [] },
    ages: [],
    tracks: [
      {
        file: 0,
        process: 0,
        pid: 42,
        name: "mem.rss",
        unit: "bytes",
        count: 3,
        time_ms: [0, 1000, 1000],
        value: [4000, 500, 500],
      },
    ],
    changes: [],
    loss_times: [],
    left_out: null,
  };
}

function amounts(bytes: number[]): RawAmounts {
  return {
    bytes,
    count: bytes.map((each) => each / 10),
    exact_bytes: bytes,
    exact_count: bytes.map((each) => each / 10),
    bytes_var: 0,
    count_var: 0,
  };
}

export function sampleRows(): RawRows {
  return {
    count: 3,
    node: [1, 1, 0],
    heap: [0, 0, 1],
    headline: [0, 1, 0],
    live: amounts([20, 100, 50]),
    alloc: amounts([40, 200, 100]),
    peak: null,
    bytes_var_unit: 1,
    inherited_bytes_var: null,
    inherited_count_var: null,
    parts: {
      live: {
        length: 4,
        count: [0, 6, 0, 0],
        row: [0, 1, 0, 1],
        thread: [0, 0, 1, 1],
        type: null,
        scope: null,
        age: null,
        bytes: [0, 60, 0, 0],
      },
      alloc: null,
      peak: null,
    },
  };
}

export function sampleSource(): DataSource {
  const documents: Record<string, () => unknown> = {
    profile: sampleProfile,
    "rows-1": sampleRows,
  };
  return {
    isServed: false,
    async load<T>(name: string): Promise<T> {
      const make = documents[name];
      if (!make) throw new Error(`no document ${name}`);
      return make() as T;
    },
  };
}
