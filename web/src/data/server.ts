/*
 * What the server of `heapscope ui` answers: docs/UI.md describes each route.
 *
 * Fails     with ServerError, which is sentences for the reader: what happened, and what to do.
 * Ensures   texts have no hidden characters (visible.ts), but for ends of lines in `config`.
 */
import { makeVisible, visible } from "./visible.ts";

export interface ServedFile {
  file: number;
  name: string;
  path: string;
  is_given: boolean;
  /* A snapshot for looking, which the server deletes after a while. */
  is_moment?: boolean;
  is_complete: boolean;
  bytes?: number;
  modified_unix_ms?: number;
}

export interface ServedFiles {
  folder: string;
  files: readonly ServedFile[];
}

export class ServerError extends Error {
  constructor(
    /* The status of HTTP; 0: no answer. */
    readonly status: number,
    what: string,
    /* What to do; "": nothing is known. */
    readonly next: string,
  ) {
    super(what);
  }
}

/* A clause of a command's messages as a sentence. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed) return "";
  const upper = /^[a-z]+[ ,]/.test(trimmed) ? trimmed[0].toUpperCase() + trimmed.slice(1) : trimmed;
  return /[.!?…]$/.test(upper) ? upper : `${upper}.`;
}

const NEXT: Record<number, string> = {
  403: "Open the address that “heapscope ui” printed, with its token, in this browser.",
  404: "Go back to the list of files, and choose one that is there.",
  500: "Try again. If it fails again, run the command that is shown in a terminal to see more.",
  503: "Close other pages that watch a process, and try again.",
};

/* The first line of a command's messages says what happened, the others what to do. */
export function errorOf(status: number, text: string): ServerError {
  const lines = text.split("\n").map(visible).filter(Boolean);
  const [what = `The server answers with the status ${status}`, ...rest] = lines;
  const next = rest.map(sentence).join(" ") || NEXT[status] || "";
  return new ServerError(status, sentence(what), next);
}

export function noAnswer(): ServerError {
  const next =
    "If it has ended, start “heapscope ui” again, and open the address that it prints: each " +
    "start has an address of its own. Recordings go on meanwhile.";
  return new ServerError(0, "“heapscope ui” does not answer.", next);
}

/* The server answers refusals with the status 200, and with this header: browsers write each answer
 * with an error's status on the console, whatever the page makes of it. */
function statusOf(answer: Response): number {
  return Number(answer.headers.get("X-Heapscope-Status")) || answer.status;
}

async function errorFrom(answer: Response): Promise<ServerError> {
  const status = statusOf(answer);
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === "string") return errorOf(status, error);
  } catch {
    /* A text that is no JSON: the status says enough. */
  }
  return errorOf(status, "");
}

/* As fetch(), but an answer that is an error is an exception. */
export async function ask(path: string, init?: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    const headers = { ...init?.headers, "X-Heapscope-Errors": "as-answers" };
    answer = await fetch(path, { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw noAnswer();
  }
  if (statusOf(answer) >= 400) throw await errorFrom(answer);
  return answer;
}

function clean<T>(value: T): T {
  const { config } = value as { config?: unknown };
  const result = makeVisible(value);
  if (typeof config === "string") {
    (result as { config: string }).config = config.split("\n").map(visible).join("\n");
  }
  return result;
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await ask(path, signal ? { signal } : undefined);
  return clean((await answer.json()) as T);
}

export async function postJson<T>(path: string, body: unknown): Promise<T> {
  const answer = await ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return clean((await answer.json()) as T);
}

/* The address of a download: the file itself is the format "trace". */
export function downloadPath(file: number, format: string): string {
  return `api/download?file=${file}&format=${format}`;
}
