/*
 * The documents as they stand in the file: see docs/PAGE.md, which describes every key. What the
 * page works with is made of them in profile.ts and rows.ts.
 */

/* A column of a table: its values, one value for all rows, or not recorded. */
export type RawColumn = readonly number[] | number | null;

export interface RawTable {
  count: number;
  [column: string]: RawColumn;
}

/* An estimate with the ends of its 95 % interval, which are left out where it is exact. */
export interface Amount {
  bytes: number;
  count: number;
  bytes_low?: number;
  bytes_high?: number;
  count_low?: number;
  count_high?: number;
}

export interface ProfileFile {
  name: string;
  origin: string | null;
  report: string;
  view: string;
  view_reason: string | null;
  selected: readonly number[];
  start_unix_ms: number | null;
  end_ms: number | null;
  is_sampled: boolean;
  is_lossy: boolean;
  has_filters: boolean;
}

export interface Process {
  file: number;
  pid: number;
  ppid: number;
  forked_from_pid: number | null;
  name: string;
  exe: string;
  cmdline: string;
  start_ms: number | null;
  end_ms: number | null;
  end: string;
  refusal: string | null;
  remedy: string | null;
  sample_family: number;
  descent_family: number;
  trend: string | null;
}

export interface SnapshotHeap {
  heap: number;
  is_counted: boolean;
  is_carved: boolean;
  parent: number;
  is_left_out: boolean;
  interval_bytes: number | null;
  weight_bytes: number;
  has_sample_counts: boolean;
  live: Amount;
  alloc: Amount;
  peak: Amount | null;
  peak_time_ms: number | null;
  peak_excess: number;
  peak_lean: number;
  peak_common: number;
}

export interface Snapshot {
  process: number;
  number: number;
  name: string | null;
  is_final: boolean;
  is_at_max: boolean;
  time_ms: number | null;
  peak_time_ms: number | null;
  /* So much more may have been live at another time. */
  peak_short_bytes?: number;
  interval_bytes: number | null;
  asked_interval_bytes: number | null;
  weight_bytes: number;
  has_peak: boolean;
  is_peak_of_all_heaps: boolean;
  is_exact: boolean;
  sample_count: number | null;
  recorder_bytes: number | null;
  recorder_cpu_ms: number | null;
  rss_bytes: number | null;
  rss_peak_bytes: number | null;
  live: Amount;
  alloc: Amount;
  peak: Amount | null;
  heaps: readonly SnapshotHeap[];
  rows: string | null;
  row_count: number;
  ledger: string | null;
  has_threads: boolean;
  has_types: boolean;
  has_scopes: boolean;
  types_time_ms: number | null;
}

export interface RawTrack {
  file: number;
  process: number | null;
  pid: number | null;
  name: string;
  unit: "bytes" | "ns" | "count";
  count: number;
  time_ms: readonly number[];
  value: readonly number[];
}

export interface IntervalChange {
  process: number;
  time_ms: number | null;
  from_bytes: number;
  to_bytes: number;
  reason: string;
  text: string;
}

/* Found lost after `from_ms`, and not after `to_ms`. */
export interface LossTime {
  process: number;
  from_ms: number | null;
  to_ms: number | null;
  name: string;
  count: number;
  is_serious: boolean;
  text: string;
}

export interface RawProfile {
  format: number;
  generator: string;
  title: string;
  strings: readonly string[];
  files: readonly ProfileFile[];
  processes: readonly Process[];
  snapshots: readonly Snapshot[];
  modules: RawTable;
  functions: RawTable;
  frames: RawTable;
  tree: RawTable;
  heaps: readonly { name: string }[];
  threads: RawTable;
  types: RawTable;
  scopes: RawTable;
  ages: readonly number[];
  tracks: readonly RawTrack[];
  changes: readonly IntervalChange[];
  loss_times: readonly LossTime[];
  left_out: { snapshots: number; text: string } | null;
}

export interface RawAmounts {
  /* bytes, count and variances are to be added to those of "live" */
  base?: "live";
  bytes: RawColumn;
  count: RawColumn;
  exact_bytes: RawColumn;
  exact_count: RawColumn;
  bytes_var: RawColumn;
  count_var: RawColumn;
}

/* A table whose number of rows is `length`, because `count` is a column. */
export interface RawParts {
  length: number;
  row: RawColumn;
  bytes: RawColumn;
  count: RawColumn;
  [column: string]: RawColumn;
}

export interface RawRows {
  count: number;
  node: RawColumn;
  heap: RawColumn;
  headline: RawColumn;
  live: RawAmounts | null;
  alloc: RawAmounts | null;
  peak: RawAmounts | null;
  bytes_var_unit: number;
  inherited_bytes_var: RawColumn;
  inherited_count_var: RawColumn;
  parts: Record<Quantity, RawParts | null>;
}

/* What of a stack is counted: what is live, what was allocated, what lived at the peak. */
export type Quantity = "live" | "alloc" | "peak";

export interface LedgerLine {
  kind: string;
  /* what it is, and the part of the resident memory that it belongs to */
  words: string;
  part: string;
  name?: string;
  is_explained: boolean;
  rss_bytes: number;
  pss_bytes: number;
  swap_bytes: number;
  size_bytes: number;
  count: number;
  [more: string]: unknown;
}

export interface Ledger {
  rss_bytes: number;
  pss_bytes: number;
  unexplained_bytes: number;
  process_count?: number;
  lines: readonly LedgerLine[];
  [more: string]: unknown;
}

export interface Warning {
  text: string;
  is_serious: boolean;
  /* Names of the figures that it makes uncertain. */
  views: readonly string[];
}

export interface ReportFunction {
  function: string;
  module?: string;
  file?: string;
  self: Amount;
  total: Amount;
}

/* What the page reads of `heapscope report --json`; there is more in it. */
export interface Report {
  generator: string;
  view: string;
  view_reason?: string;
  answer?: string;
  resident_answer?: string;
  head?: readonly string[];
  warnings?: readonly Warning[];
  totals: { live: Amount; alloc: Amount; peak?: Amount };
  is_sampled: boolean;
  is_exact: boolean;
  is_incomplete: boolean;
  /* Heaps were chosen: the peak is that of all heaps, not of the chosen ones. */
  is_peak_of_all_heaps?: boolean;
  duration_seconds: number;
  ledger?: Ledger;
  rss_peak_ledger?: Ledger;
  processes: readonly Record<string, unknown>[];
  functions_by_self: readonly ReportFunction[];
  functions_by_total: readonly ReportFunction[];
  [more: string]: unknown;
}
