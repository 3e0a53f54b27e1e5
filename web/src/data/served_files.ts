/*
 * The files of the server: the list, and which of them the address names.
 *
 * The key `file` of the address has the numbers of one file or several ("0", "0,2"). Without it,
 * the page shows the files of the command line.
 */
import { getJson, type ServedFile, type ServedFiles } from "./server.ts";

/* As many as the server puts into one page. */
const FILES_MAX = 16;

export function fileKey(wanted: string | null, files: readonly ServedFile[]): string | null {
  if (wanted !== null && /^\d{1,6}(,\d{1,6}){0,15}$/.test(wanted)) return wanted;
  const given = files.filter((file) => file.is_given).map((file) => file.file);
  return given.length > 0 ? given.slice(0, FILES_MAX).join() : null;
}

export function filesOfKey(key: string | null, files: readonly ServedFile[]): ServedFile[] {
  const numbers = (key ?? "").split(",");
  return files.filter((file) => numbers.includes(String(file.file)));
}

let list: ServedFiles | null = null;
const listeners = new Set<() => void>();

export function knownFiles(): ServedFiles | null {
  return list;
}

export function onFiles(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/* Reads the list, for all who show it. */
export async function readFiles(): Promise<ServedFiles> {
  list = await getJson<ServedFiles>("api/files");
  for (const listener of listeners) listener();
  return list;
}

/* The file that a recording or a snapshot has written. */
export async function findFile(path: string): Promise<ServedFile | null> {
  const { files } = await readFiles();
  return files.find((file) => file.path === path) ?? null;
}
