/*
 * What is recorded now, with buttons that watch and stop it, and what this server has written.
 */
import { findFile, readFiles } from "../data/served_files.ts";
import { postJson, type ServedFile } from "../data/server.ts";
import { bytes, count, cut, duration, plural } from "../format.ts";
import { Trouble } from "../shell/trouble.tsx";
import { useFiles } from "../shell/use_files.ts";
import { navigate } from "../state.ts";
import { recordingsOf, type Recording, type Sessions, type Written } from "./answers.ts";
import { SavedFile } from "./saved_file.tsx";
import { useAction } from "./use_action.ts";
import type { Polled } from "./use_poll.ts";

const NS = 1e9;
const CLIENTS_SHOWN = 8;

/* Ends a recording; returns its file, which is complete then. */
export async function stopRecording(session: string): Promise<ServedFile | null> {
  const { path } = await postJson<Written>("api/stop", { session });
  return findFile(path);
}

function Clients({ recording }: { recording: Recording }) {
  const { clients, session } = recording;
  const more = clients.length - CLIENTS_SHOWN;
  if (clients.length === 0) {
    const waited = session.names.length > 0 ? ` for ${cut(session.names.join(", "), 60)}` : "";
    return <p class="muted">It waits{waited}: no process is recorded yet.</p>;
  }
  return (
    <ul>
      {clients.slice(0, CLIENTS_SHOWN).map((client) => (
        <li key={client.pid}>
          <button type="button" onClick={() => navigate({ "live.pid": client.pid })}>
            Watch <bdi>{cut(client.name, 40)}</bdi> <span class="muted">{client.pid}</span>
          </button>
          {client.live_bytes !== undefined && (
            <span class="muted"> {bytes(client.live_bytes)} live</span>
          )}
        </li>
      ))}
      {more > 0 && <li class="muted">and {plural(more, "other process", "other processes")}</li>}
    </ul>
  );
}

function facts({ session, by, clients }: Recording): string[] {
  const seconds = Date.now() / 1000 - session.start_real_ns / NS;
  const share = Math.max(0, ...clients.map((client) => client.overhead_share ?? 0));
  const parts = [
    by,
    `for ${duration(Math.max(0, Math.round(seconds)))}`,
    session.interval_bytes === 1 ? "every allocation" : `interval ${bytes(session.interval_bytes)}`,
    plural(session.sample_count, "sample"),
    plural(session.dump_count, "snapshot"),
    `${bytes(session.region_bytes)} for recording`,
  ];
  if (share > 0) {
    const whose = clients.length > 1 ? "a process's" : "its";
    parts.push(`takes ${(100 * share).toFixed(1)} % of ${whose} CPU time`);
  }
  return parts;
}

interface CardProps {
  recording: Recording;
  onStopped: () => void;
}

function Card({ recording, onStopped }: CardProps) {
  const { session } = recording;
  const isEnding = session.state === "finishing";
  const stop = useAction(async () => {
    await stopRecording(session.session);
    onStopped();
  });
  return (
    <li class="live-card">
      <div class="live-card-head">
        <h3>
          Session <bdi class="name">{cut(session.session, 60)}</bdi>
        </h3>
        <button type="button" disabled={stop.isRunning || isEnding} onClick={stop.run}>
          {stop.isRunning || isEnding ? "Stopping…" : "Stop and save"}
        </button>
      </div>
      <p class="muted">
        {facts(recording).map((fact, i) => [
          i > 0 && " · ",
          <span key={fact} class="number">
            {fact}
          </span>,
        ])}
      </p>
      <Clients recording={recording} />
      {stop.error !== null && <Trouble error={stop.error} />}
    </li>
  );
}

/* Who will record what is started here. */
function Collector({ sessions }: { sessions: Sessions }) {
  if (sessions.daemon) {
    return (
      <p class="muted">
        The daemon heapscoped (pid {sessions.daemon.pid}) makes recordings that start here.
      </p>
    );
  }
  return (
    <p class="muted">
      No daemon runs, so each recording that starts here is a “heapscope attach” of its own. To
      record processes that start later, too, start “heapscoped” in a terminal.
    </p>
  );
}

function Files({ views }: { views: readonly string[] }) {
  const { files } = useFiles();
  const written =
    files?.files.filter((file) => !file.is_given && !file.is_moment && file.is_complete) ?? [];
  if (!files || written.length === 0) return null;
  return (
    <section class="live-files" aria-label="Files that were recorded here">
      <h3>Recorded here</h3>
      <ul>
        {written.map((file) => (
          <li key={file.file}>
            <SavedFile file={file} views={views} />
          </li>
        ))}
      </ul>
      <p class="muted">
        They are in <bdi class="name">{files.folder}</bdi>
      </p>
    </section>
  );
}

interface Props {
  sessions: Polled<Sessions>;
  views: readonly string[];
}

export function Recordings({ sessions, views }: Props) {
  const { value, error, again } = sessions;
  const recordings = value ? recordingsOf(value) : [];
  const onStopped = () => {
    again();
    void readFiles();
  };
  return (
    <section aria-labelledby="live-recordings">
      <h2 id="live-recordings">
        What is recorded now{value && <span class="muted"> {count(recordings.length)}</span>}
      </h2>
      {error !== null && <Trouble error={error} />}
      {value && recordings.length === 0 && (
        <p>Nothing. Choose a process below, and press “Record…”.</p>
      )}
      <ul class="live-cards">
        {recordings.map((recording) => (
          <Card key={recording.session.session} recording={recording} onStopped={onStopped} />
        ))}
      </ul>
      {value && <Collector sessions={value} />}
      <Files views={views} />
    </section>
  );
}
