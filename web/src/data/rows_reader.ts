/*
 * Reads the rows of a snapshot from the bytes of their document: large ones in a worker of the
 * browser, so that the page answers meanwhile, and what the text needs in memory is gone with it.
 *
 * main.tsx says how a worker is made. Where there is none, as in tests, or the browser lets the
 * page have none, the page itself does the work.
 */
import { Column, FormatError } from "./columns.ts";
import type { RawRows } from "./documents.ts";
import { decodeRows, type RowLimits, type Rows } from "./rows.ts";

export interface RowsJob {
  bytes: Uint8Array<ArrayBuffer>;
  isGzip: boolean;
  limits: RowLimits;
}

export type RowsAnswer = { rows: Rows } | { error: string };

/* A smaller document is read before a worker has started. */
const LARGE_GZIP_BYTES = 300_000;
const LARGE_TEXT_BYTES = 3_000_000;

export async function parseBytes<T>(bytes: Uint8Array<ArrayBuffer>, isGzip: boolean): Promise<T> {
  const stream = new Blob([bytes]).stream();
  const text = isGzip ? stream.pipeThrough(new DecompressionStream("gzip")) : stream;
  return (await new Response(text).json()) as T;
}

export async function readHere({ bytes, isGzip, limits }: RowsJob): Promise<Rows> {
  let raw: RawRows;
  try {
    raw = await parseBytes<RawRows>(bytes, isGzip);
  } catch (error) {
    throw new FormatError(`the stacks of the snapshot cannot be read: ${String(error)}`);
  }
  return decodeRows(raw, limits);
}

/* The arrays of the rows, which move to the page instead of being copied. */
export function buffersOf(rows: Rows): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const look = (value: unknown): void => {
    if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  look(rows);
  return [...found];
}

/* Rows that came from a worker: their columns are columns again, and equal ones are one. */
export function revived(rows: Rows): Rows {
  const columns = new Map<unknown, Column>();
  const revive = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    if ("constant" in value) {
      const known = columns.get(value) ?? Column.from(value);
      columns.set(value, known);
      return known;
    }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, revive(each)]));
  };
  return revive(rows) as Rows;
}

let makeWorker: (() => Worker) | null = null;

export function readRowsIn(make: () => Worker): void {
  makeWorker = make;
}

/* null: the browser lets the page have no worker. */
function readThere(make: () => Worker, job: RowsJob): Promise<RowsAnswer | null> {
  return new Promise((settle) => {
    let worker: Worker;
    try {
      worker = make();
    } catch {
      settle(null);
      return;
    }
    const end = (answer: RowsAnswer | null) => {
      worker.terminate();
      settle(answer);
    };
    worker.onmessage = ({ data }: MessageEvent<RowsAnswer>) => end(data);
    worker.onmessageerror = () => end(null);
    worker.onerror = (event) => {
      event.preventDefault();
      end(null);
    };
    worker.postMessage(job);
  });
}

export async function readRows(job: RowsJob): Promise<Rows> {
  const most = job.isGzip ? LARGE_GZIP_BYTES : LARGE_TEXT_BYTES;
  const isLarge = job.bytes.length > most;
  const answer = isLarge && makeWorker ? await readThere(makeWorker, job) : null;
  if (!answer) return readHere(job);
  if ("error" in answer) throw new FormatError(answer.error);
  return revived(answer.rows);
}
