/*
 * Whether the picture is of now; and if it is not, why, and what to do. And the recording that the
 * process belongs to, which can be stopped here.
 */
import { useEffect, useState } from "preact/hooks";

import { findFile } from "../data/served_files.ts";
import { getJson, sentence, ServerError, type ServedFile } from "../data/server.ts";
import { count, cut, plural } from "../format.ts";
import { Trouble } from "../shell/trouble.tsx";
import { navigate } from "../state.ts";
import { recordingOf, type MachineProcesses, type Recording, type Sessions } from "./answers.ts";
import { stopRecording } from "./recordings.tsx";
import { SavedFile } from "./saved_file.tsx";
import { useAction } from "./use_action.ts";
import { usePoll } from "./use_poll.ts";
import type { LinkStatus, WatchLink } from "./watch_link.ts";

function Words({ status }: { status: LinkStatus }) {
  switch (status.kind) {
    case "connecting":
      return <>Connecting to the recording…</>;
    case "receiving":
      return <>Receiving the stacks that there are: {count(status.count)} until now…</>;
    case "live":
      return (
        <>
          <span class="live-dot" aria-hidden="true" /> Live
        </>
      );
    case "hidden":
      return <>The tab was hidden: nothing was asked.</>;
    case "paused":
      return <>Paused. {plural(status.waiting, "update")} waiting; recording goes on.</>;
    case "lost":
      return <>The connection is lost. The figures are those of the last update.</>;
    case "ended":
      return <>It is over: {sentence(status.reason)} The figures are those of the last update.</>;
  }
}

/* Which recording the process belongs to; the last known one, when it has ended. */
function useRecording(pid: number, kind: LinkStatus["kind"]): Recording | null {
  const [recording, setRecording] = useState<Recording | null>(null);
  useEffect(() => {
    if (kind !== "live" && kind !== "ended") return;
    getJson<Sessions>("api/sessions").then(
      (list) => setRecording((before) => recordingOf(list, pid) ?? before),
      () => {}, // the status says that the server does not answer
    );
  }, [pid, kind]);
  return recording;
}

interface Props {
  link: WatchLink;
  pid: number;
  views: readonly string[];
}

function Session({ link, pid, views }: Props) {
  const recording = useRecording(pid, link.status.kind);
  const [file, setFile] = useState<ServedFile | null>(null);
  const stop = useAction(async () => {
    if (recording) setFile(await stopRecording(recording.session.session));
  });
  const path = recording?.session.path;
  useEffect(() => {
    if (link.status.kind !== "ended" || !path) return;
    findFile(path).then(
      (found) => found?.is_complete && setFile(found),
      () => {},
    );
  }, [link.status.kind, path]);
  if (file) {
    return (
      <p class="live-note" role="status">
        The recording is complete: <SavedFile file={file} views={views} />
      </p>
    );
  }
  const isOver = link.status.kind === "ended" && !stop.isRunning && stop.error === null;
  if (!recording || isOver) return null;
  return (
    <>
      <p class="live-session">
        <span class="muted">
          Session <bdi class="name">{cut(recording.session.session, 60)}</bdi> of {recording.by}
        </span>
        <button type="button" disabled={stop.isRunning} onClick={stop.run}>
          {stop.isRunning ? "Stopping…" : "Stop and save"}
        </button>
      </p>
      {stop.error !== null && <Trouble error={stop.error} />}
    </>
  );
}

function Lost({ status, link }: { status: LinkStatus; link: WatchLink }) {
  if (status.kind !== "lost") return null;
  const known = status.error instanceof ServerError;
  return (
    <Trouble error={known ? status.error : new Error("The connection was cut")}>
      <p>The page tries again by itself.</p>
      <button type="button" onClick={() => void link.connect()}>
        Try now
      </button>
    </Trouble>
  );
}

const AFTERMATH_PAUSE_MS = 2000;

async function findAftermath(pid: number): Promise<string> {
  const [{ processes, left_out_count }, list] = await Promise.all([
    getJson<MachineProcesses>("api/processes"),
    getJson<Sessions>("api/sessions"),
  ]);
  if (recordingOf(list, pid)) return "It is still recorded, and can be watched again.";
  if (processes.some((process) => process.pid === pid)) {
    return (
      "The process runs, and is recorded no more: its recording was stopped, or what made it " +
      "has failed. To go on, begin a new recording."
    );
  }
  return left_out_count === 0 ? "The process runs no more." : "";
}

function Ended({ link, pid }: { link: WatchLink; pid: number }) {
  /* Again and again: the server's lists may be those of a few seconds ago. */
  const { value: words } = usePoll(() => findAftermath(pid), AFTERMATH_PAUSE_MS);
  return (
    <p class="live-ended">
      {words && <span role="status">{words}</span>}
      <button type="button" onClick={() => void link.connect()}>
        Watch it again
      </button>
      <button type="button" onClick={() => navigate({ "live.pid": null, "live.record": pid })}>
        Record it…
      </button>
    </p>
  );
}

export function StatusLine(props: Props) {
  const { link, pid } = props;
  const { status } = link;
  return (
    <>
      <div class="live-status">
        <p role="status" class={`live-is-${status.kind}`}>
          <Words status={status} />
        </p>
        <Session {...props} />
      </div>
      {status.kind === "ended" && <Ended link={link} pid={pid} />}
      <Lost status={status} link={link} />
    </>
  );
}
