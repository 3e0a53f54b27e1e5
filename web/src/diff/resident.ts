/*
 * How the parts of the resident memory changed, from the ledgers of two snapshots.
 */
import type { Ledger } from "../data/documents.ts";
import { ledgerParts } from "../data/ledger_parts.ts";

export interface PartChange {
  name: string;
  before: number;
  after: number;
}

/* The largest change first. Readings have no error of sampling. */
export function partChanges(before: Ledger, after: Ledger): PartChange[] {
  const changes = new Map<string, PartChange>();
  const of = (name: string) => {
    let change = changes.get(name);
    if (!change) changes.set(name, (change = { name, before: 0, after: 0 }));
    return change;
  };
  for (const part of ledgerParts(before)) of(part.name).before = part.bytes;
  for (const part of ledgerParts(after)) of(part.name).after = part.bytes;
  const size = (change: PartChange) => Math.abs(change.after - change.before);
  return [...changes.values()].sort((a, b) => size(b) - size(a));
}
