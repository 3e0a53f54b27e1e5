/*
 * Where documents come from: elements of the page itself, or heapscope's server.
 *
 * In a file, a document is gzip in base64, which the browser itself decompresses. Its element is
 * emptied when it was read, so that the text does not take memory beside the data.
 */
import { FormatError } from "./columns.ts";
import { ask } from "./server.ts";

export interface DataSource {
  /* Whether heapscope's server is behind the page. */
  readonly isServed: boolean;
  /* Reads a document; rejects with FormatError where there is none, or where it cannot be read. */
  load<T>(name: string): Promise<T>;
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function parseGzip<T>(bytes: Uint8Array<ArrayBuffer>): Promise<T> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as T;
}

const elementOf = (name: string) => document.getElementById(`heapscope-${name}`);

/* The documents inside this page; null where it has none. */
export function embeddedSource(): DataSource | null {
  if (!elementOf("profile")) return null;
  const read = new Map<string, Uint8Array<ArrayBuffer>>();
  return {
    isServed: false,
    async load<T>(name: string): Promise<T> {
      const element = elementOf(name);
      let bytes = read.get(name);
      if (!bytes) {
        if (!element) throw new FormatError(`the document ${name} is not in this page`);
        bytes = fromBase64(element.textContent ?? "");
        element.textContent = "";
        read.set(name, bytes);
      }
      try {
        return await parseGzip<T>(bytes);
      } catch (error) {
        throw new FormatError(`the document ${name} cannot be read: ${String(error)}`);
      }
    },
  };
}

/* The documents that heapscope's server has for one file or several ("0", "0,2"). */
export function servedSource(files: string): DataSource {
  return {
    isServed: true,
    async load<T>(name: string): Promise<T> {
      const document = encodeURIComponent(name);
      const answer = await ask(`api/profile?file=${files}&document=${document}`);
      return (await answer.json()) as T;
    },
  };
}
