/*
 * The answers of the server about processes, recordings and itself, as docs/UI.md and
 * heapscope-list(1) describe them: what the page reads of them.
 */
export interface MachineProcess {
  pid: number;
  name: string;
  command?: string;
  uid: number;
  rss_bytes: number;
  swap_bytes: number;
  /* Left out where it was not looked at. */
  eligible?: boolean;
  is_recorded?: boolean;
  what?: string;
  remedy?: string;
}

export interface MachineProcesses {
  count: number;
  left_out_count: number;
  processes: readonly MachineProcess[];
}

export interface Session {
  session: string;
  /* "running", "finishing", "done" */
  state: string;
  names: readonly string[];
  pids: readonly number[];
  interval_bytes: number;
  start_real_ns: number;
  running_count: number;
  process_count: number;
  dump_count: number;
  sample_count: number;
  region_bytes: number;
  path: string;
}

export interface Client {
  pid: number;
  name: string;
  is_dormant: boolean;
  session?: string | null;
  region_bytes: number;
  /* What lives, as its threads count it. Left out if that is not known. */
  live_bytes?: number;
  sample_count?: number;
  overhead_share?: number;
}

export interface Collector {
  pid: number;
  command?: string;
  cpu_share?: number;
  rss_bytes: number;
  sessions: readonly Session[];
  clients: readonly Client[];
}

export interface Sessions {
  daemon: { pid: number } | null;
  sessions: readonly Session[];
  clients: readonly Client[];
  other_daemons: readonly Collector[];
  recordings: readonly Collector[];
  messages?: readonly string[];
}

export interface Started {
  session: string;
  path: string;
  command: string;
  messages: readonly string[];
}

export interface Written {
  path: string;
  messages: readonly string[];
}

export interface Internals {
  server: Record<string, number>;
  processes: readonly {
    pid: number;
    is_ui: boolean;
    name: string;
    command?: string;
    rss_bytes: number;
    pss_bytes: number;
    private_bytes: number;
    swap_bytes: number;
    cpu_ms: number;
  }[];
}

/* A recording with who makes it. */
export interface Recording {
  session: Session;
  clients: readonly Client[];
  /* "heapscoped", "heapscope run", "heapscope attach" */
  by: string;
}

const clientsOf = (clients: readonly Client[], session: Session) =>
  clients.filter((client) => client.session === session.session && !client.is_dormant);

/* All recordings that go on, the youngest first. */
export function recordingsOf(list: Sessions): Recording[] {
  const found = list.sessions.map((session) => ({
    session,
    clients: clientsOf(list.clients, session),
    by: "heapscoped",
  }));
  for (const collector of [...list.other_daemons, ...list.recordings]) {
    const by = collector.command ? `heapscope ${collector.command}` : "heapscoped";
    for (const session of collector.sessions) {
      found.push({ session, clients: clientsOf(collector.clients, session), by });
    }
  }
  return found
    .filter(({ session }) => session.state !== "done")
    .sort((a, b) => b.session.start_real_ns - a.session.start_real_ns);
}

/* What records a process. */
export function recordingOf(list: Sessions, pid: number): Recording | null {
  const isOf = (recording: Recording) => recording.clients.some((client) => client.pid === pid);
  return recordingsOf(list).find(isOf) ?? null;
}

/* How much lives in each process that is recorded: by pid. */
export function liveTotalsOf(list: Sessions | null): ReadonlyMap<number, number> {
  const totals = new Map<number, number>();
  for (const { clients } of list ? recordingsOf(list) : []) {
    for (const { pid, live_bytes } of clients) {
      if (live_bytes !== undefined) totals.set(pid, live_bytes);
    }
  }
  return totals;
}
