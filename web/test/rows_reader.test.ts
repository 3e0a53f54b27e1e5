/* rows_reader.ts: a worker and the page itself read the same rows. */
import { gzipSync } from "node:zlib";
import { afterEach, expect, it } from "vitest";

import { FormatError } from "../src/data/columns.ts";
import { decodeProfile } from "../src/data/profile.ts";
import { decodeRows } from "../src/data/rows.ts";
import { readHere, readRows, readRowsIn, type RowsJob } from "../src/data/rows_reader.ts";
import { sampleProfile, sampleRows, sampleSource } from "./sample.ts";

const profile = decodeProfile(sampleProfile(), sampleSource());
const expected = () => decodeRows(sampleRows(), profile);

/* The sample's rows, as text that is long enough for a worker. */
function largeJob(text = JSON.stringify(sampleRows())): RowsJob {
  const bytes = new TextEncoder().encode(text + " ".repeat(3_000_001));
  return { bytes, isGzip: false, limits: profile };
}

/* Answers as a worker would: with a copy that has no classes. */
class FakeWorker {
  static startedCount = 0;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: ((event: { preventDefault: () => void }) => void) | null = null;
  constructor(private readonly isBroken: boolean) {
    FakeWorker.startedCount++;
  }
  async postMessage(job: RowsJob) {
    if (this.isBroken) this.onerror?.({ preventDefault() {} });
    else this.onmessage?.({ data: structuredClone({ rows: await readHere(job) }) });
  }
  terminate() {}
}

const fake = (isBroken: boolean) => new FakeWorker(isBroken) as unknown as Worker;

afterEach(() => {
  FakeWorker.startedCount = 0;
});

it("reads what is small on the page", async () => {
  readRowsIn(() => fake(false));
  const bytes = Uint8Array.from(gzipSync(JSON.stringify(sampleRows())));
  expect(await readRows({ bytes, isGzip: true, limits: profile })).toEqual(expected());
  expect(FakeWorker.startedCount).toBe(0);
});

it("reads what is large in a worker", async () => {
  readRowsIn(() => fake(false));
  const rows = await readRows(largeJob());
  expect(rows).toEqual(expected());
  expect(rows.live!.bytes.at(1)).toBe(expected().live!.bytes.at(1));
  expect(FakeWorker.startedCount).toBe(1);
});

it("reads it on the page where the browser allows no worker", async () => {
  readRowsIn(() => fake(true));
  expect(await readRows(largeJob())).toEqual(expected());
  readRowsIn(() => {
    throw new Error("forbidden");
  });
  expect(await readRows(largeJob())).toEqual(expected());
});

it("says that a document cannot be read", async () => {
  readRowsIn(() => fake(true));
  await expect(readRows(largeJob("{"))).rejects.toThrow(FormatError);
});
