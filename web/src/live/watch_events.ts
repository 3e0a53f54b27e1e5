/*
 * Server-sent events of /api/watch: reading them from a stream of bytes.
 *
 * The page reads them with fetch() and not with EventSource, which hides the answer of a server
 * that refuses, and connects again by itself when the stream is over.
 */
export interface WatchUpdate {
  number: number;
  time_ms: number;
  interval_ms: number;
  look_cpu_ms: number;
  has_more: boolean;
  process: {
    pid: number;
    name: string;
    is_from_startup: boolean;
    interval_bytes: number;
    rss_bytes: number;
    swap_bytes: number;
    region_bytes: number;
    lost_count: number;
    live_bytes: number;
    live_count: number;
    alloc_bytes: number;
    alloc_count: number;
  };
  heaps: readonly { name: string; is_carved: boolean; interval_bytes: number }[];
  strings: readonly string[];
  /* `class` is that of a function in data/documents.ts. */
  frames: Record<"id" | "function" | "module" | "class", readonly number[]>;
  /* New calls, numbered from 1 on in the order in which they come. `caller` is such a number, of a
   * call that came before; 0: none. */
  nodes: Record<"caller" | "frame", readonly number[]>;
  /* `node` is the innermost call. */
  stacks: Record<"id" | "heap" | "node", readonly number[]>;
  rows: Record<
    "stack" | "live_bytes" | "live_count" | "alloc_bytes" | "alloc_count",
    readonly number[]
  >;
  /* What live memory is of which type: rows of all types of a stack, which replace earlier ones.
   * What they leave of the stack has no type. null: the session leaves types out. */
  types: Record<"stack" | "type" | "live_bytes" | "live_count", readonly number[]> | null;
}

export interface ServerEvent {
  event: string;
  data: string;
}

/* Takes whole events out of a text that grows; the rest is kept for the next call. An event may
 * have megabytes, which come in pieces of some kilobytes: they are put together once. */
export class EventReader {
  private pieces: string[] = [];
  private last = "";

  take(text: string): ServerEvent[] {
    const isWhole = (this.last + text).includes("\n\n");
    this.pieces.push(text);
    this.last = text.slice(-1) || this.last;
    if (!isWhole) return [];
    const blocks = this.pieces.join("").split("\n\n");
    this.pieces = [blocks.pop() ?? ""];
    this.last = this.pieces[0].slice(-1);
    return blocks.map(parseEvent).filter((event) => event.data !== "");
  }
}

function parseEvent(block: string): ServerEvent {
  const result = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) result.event = line.slice(6).trim();
    else if (line.startsWith("data:")) result.data += line.slice(5).trimStart();
  }
  return result;
}

/* Calls `take` for each event until the stream ends; rejects when the connection is lost. */
export async function readEvents(
  answer: Response,
  take: (event: ServerEvent) => void,
): Promise<void> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader();
  if (!reader) return;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    for (const event of events.take(value)) take(event);
  }
}
