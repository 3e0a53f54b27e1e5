/*
 * The list of files of the server, for components; null while it is read for the first time.
 */
import { useEffect, useState } from "preact/hooks";

import { knownFiles, onFiles, readFiles } from "../data/served_files.ts";
import type { ServedFiles } from "../data/server.ts";

export function useFiles(): { files: ServedFiles | null; error: unknown } {
  const [files, setFiles] = useState(knownFiles());
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const stop = onFiles(() => setFiles(knownFiles()));
    readFiles().catch(setError);
    return stop;
  }, []);
  return { files, error };
}
