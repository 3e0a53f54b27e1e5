/*
 * A file that was written: its links.
 */
import { downloadPath, type ServedFile } from "../data/server.ts";
import { bytes } from "../format.ts";
import { linkTo } from "../state.ts";

interface Props {
  file: ServedFile;
  views: readonly string[];
}

/* The address of the views of a file: the flame graph, where there is one. */
export function fileAddress(file: ServedFile, views: readonly string[]) {
  const view = views.includes("flame") ? "flame" : null;
  return { view, file: file.file, "live.pid": null, "live.record": null };
}

export function SavedFile({ file, views }: Props) {
  return (
    <span class="live-saved">
      <bdi class="name">{file.name}</bdi>
      {file.bytes !== undefined && <span class="muted"> {bytes(file.bytes)}</span>}{" "}
      <a href={linkTo(fileAddress(file, views))}>Open</a>{" "}
      <a href={downloadPath(file.file, "trace")} download={file.name}>
        Save the trace
      </a>
    </span>
  );
}
