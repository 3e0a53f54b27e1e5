/*
 * What can be done with a process that is watched: hold the picture, take a snapshot, and open it
 * in the other views.
 */
import { findFile } from "../data/served_files.ts";
import { postJson, type ServedFile } from "../data/server.ts";
import { Trouble } from "../shell/trouble.tsx";
import { navigate } from "../state.ts";
import { useState } from "preact/hooks";
import type { Written } from "./answers.ts";
import { fileAddress, SavedFile } from "./saved_file.tsx";
import { useAction } from "./use_action.ts";
import type { WatchLink } from "./watch_link.ts";

/* A moment is for looking: the server keeps the last few, and deletes them when it ends. */
async function takeSnapshot(pid: number, isMoment: boolean): Promise<ServedFile> {
  const { path } = await postJson<Written>("api/snapshot", { pid, moment: isMoment });
  const file = await findFile(path);
  if (!file) throw new Error(`The snapshot ${path} is not in the list of files`);
  return file;
}

interface Props {
  link: WatchLink;
  pid: number;
  views: readonly string[];
}

export function WatchActions({ link, pid, views }: Props) {
  const [saved, setSaved] = useState<ServedFile | null>(null);
  const open = useAction(async () => navigate(fileAddress(await takeSnapshot(pid, true), views)));
  const save = useAction(async () => setSaved(await takeSnapshot(pid, false)));
  const { kind } = link.status;
  const isPaused = kind === "paused";
  const canAsk = kind !== "ended" && !open.isRunning && !save.isRunning;
  return (
    <div class="live-actions">
      <button
        type="button"
        aria-pressed={isPaused}
        disabled={kind !== "live" && !isPaused}
        onClick={() => (isPaused ? link.resume() : link.pause())}
      >
        {isPaused ? "Go on" : "Pause"}
      </button>
      <button type="button" disabled={!canAsk} onClick={save.run}>
        {save.isRunning ? "Taking a snapshot…" : "Snapshot"}
      </button>
      <button type="button" class="live-main-action" disabled={!canAsk} onClick={open.run}>
        {open.isRunning ? "Taking a snapshot…" : "Open this moment"}
      </button>
      {saved && (
        <p class="live-note" role="status">
          Snapshot taken: <SavedFile file={saved} views={views} />
        </p>
      )}
      {[open.error, save.error]
        .filter((error) => error !== null)
        .map((error, i) => (
          <Trouble key={i} error={error} />
        ))}
    </div>
  );
}
