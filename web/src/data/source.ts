/*
 * Where documents come from: elements of the page itself, or heapscope's server.
 *
 * In a file, a document is gzip in base64, which the browser itself decompresses. Its element is
 * emptied when it was read, so that the text does not take memory beside the data.
 */
import { FormatError } from "./columns.ts";
import { parseBytes } from "./rows_reader.ts";
import { ask } from "./server.ts";

export interface DataSource {
  /* Whether heapscope's server is behind the page. */
  readonly isServed: boolean;
  /* Reads a document; rejects with FormatError where there is none, or where it cannot be read. */
  load<T>(name: string): Promise<T>;
  /* The same as it is stored, for a reader of its own. */
  bytes?(name: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; isGzip: boolean }>;
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export function parseGzip<T>(bytes: Uint8Array<ArrayBuffer>): Promise<T> {
  return parseBytes<T>(bytes, true);
}

const elementOf = (name: string) => document.getElementById(`heapscope-${name}`);

/* The documents inside this page; null where it has none. */
export function embeddedSource(): DataSource | null {
  if (!elementOf("profile")) return null;
  const read = new Map<string, Uint8Array<ArrayBuffer>>();
  const bytesOf = (name: string) => {
    const known = read.get(name);
    if (known) return known;
    const element = elementOf(name);
    if (!element) throw new FormatError(`the document ${name} is not in this page`);
    const bytes = fromBase64(element.textContent ?? "");
    element.textContent = "";
    read.set(name, bytes);
    return bytes;
  };
  return {
    isServed: false,
    async load<T>(name: string): Promise<T> {
      const bytes = bytesOf(name);
      try {
        return await parseGzip<T>(bytes);
      } catch (error) {
        throw new FormatError(`the document ${name} cannot be read: ${String(error)}`);
      }
    },
    async bytes(name) {
      return { bytes: bytesOf(name), isGzip: true };
    },
  };
}

/* The documents that heapscope's server has for one file or several ("0", "0,2"). */
export function servedSource(files: string): DataSource {
  const answerTo = (name: string) => {
    const document = encodeURIComponent(name);
    return ask(`api/profile?file=${files}&document=${document}`);
  };
  return {
    isServed: true,
    load: async <T>(name: string) => (await (await answerTo(name)).json()) as T,
    async bytes(name) {
      return { bytes: new Uint8Array(await (await answerTo(name)).arrayBuffer()), isGzip: false };
    },
  };
}
