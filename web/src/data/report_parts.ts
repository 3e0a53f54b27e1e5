/*
 * Parts of the document "report-F" that single views read: heapscope-report(1) describes them. All
 * may be missing; `null` and a missing key are "not recorded".
 */
import type { Amount, Ledger, Report } from "./documents.ts";

export interface ReportFrame {
  function: string;
  module?: string;
  file?: string;
  line?: number;
}

export type LeakVerdict = "leaks" | "unsure" | "replaced" | "stopped";

export interface LeakStack {
  verdict: LeakVerdict;
  confidence: number;
  growth_bytes_per_hour: number;
  growth_low_bytes_per_hour: number;
  growth_high_bytes_per_hour: number;
  live: Amount;
  alloc: Amount;
  oldest_seconds: number;
  live_bytes_by_eighth: readonly number[];
  frames: readonly ReportFrame[];
}

export interface Leaks {
  span_seconds: number;
  earlier_snapshot_count: number;
  is_too_short: boolean;
  /* Sentences: how many stacks leak, and how fast; what was compared. */
  answer: string;
  comparison: string;
  stacks: readonly LeakStack[];
}

export interface Share {
  share: number;
  low: number;
  high: number;
}

export interface LifetimeSums {
  alloc: Amount;
  freed: Amount;
  temporary: Amount;
  unknown_lifetime: Amount;
  mean_lifetime_ms?: number;
  mean_lifetime_low_ms?: number;
  mean_lifetime_high_ms?: number;
  survival: Readonly<Record<string, Share>>;
}

export interface Lifetimes extends LifetimeSums {
  stacks: readonly (LifetimeSums & { frames: readonly ReportFrame[] })[];
}

interface Estimate {
  bytes: number;
  bytes_low: number;
  bytes_high: number;
}

export interface PinnedStack {
  block_count: number;
  block_bytes: number;
  sparse_page_bytes: number;
  gain: Estimate;
  frames?: readonly ReportFrame[];
}

export interface PinnedPages {
  is_exact: boolean;
  /* Resident pages by how full they are: empty, up to one eighth, ... */
  page_counts: readonly number[];
  stacks: readonly PinnedStack[];
}

/* What the recording cost the collector, in seconds of CPU time. */
export interface RecordingCost {
  recording_cpu_seconds: number;
  names_cpu_seconds: number;
  /* Of the process that recorded; missing: it had other work, too. */
  collector_cpu_seconds?: number;
  collector_peak_rss_bytes?: number;
}

export interface Loss {
  name: string;
  count: number;
  is_serious: boolean;
  text: string;
}

export interface CutModule {
  pid: number;
  module: string;
  text: string;
  remedy?: string;
  stacks: number;
  live_bytes: number;
  alloc_bytes: number;
}

export interface NamelessModule {
  module: string;
  build_id: string;
  reason: string;
  text: string;
  detail?: string;
  nameless_count: number;
  address_count: number;
}

export interface ReportParts {
  leaks?: Leaks;
  lifetimes?: Lifetimes;
  pinned_pages?: PinnedPages;
  /* false: the file does not record what was lost. */
  is_loss_known?: boolean;
  losses?: readonly Loss[];
  cost?: RecordingCost | null;
  cut_modules?: readonly CutModule[];
  missing_names?: { module_count: number; modules: readonly NamelessModule[] };
  not_profiled?: readonly {
    pid: number;
    name: string;
    text: string;
    remedy?: string;
  }[];
}

/* The report with these parts: the keys are those of heapscope-report(1). */
export function partsOfReport(report: Report): ReportParts {
  return report as ReportParts;
}

/* What can be done about memory that malloc keeps free. */
export function remediesOf(ledger: Ledger): readonly { remedy: string; bytes: number }[] {
  const { remedies } = ledger as { remedies?: readonly { remedy: string; bytes: number }[] };
  return remedies ?? [];
}
