/*
 * The settings of a recording: those of heapscope-start(1), in groups, each explained for a reader
 * who does not know it. The server checks the values: /api/config.
 */
export type Values = Readonly<Record<string, string | boolean>>;

export interface Field {
  /* The name of the option. */
  name: string;
  label: string;
  /* What it does, and what holds if it is left empty. */
  hint: string;
  kind: "text" | "flag";
  placeholder?: string;
  /* Only the daemon can do it, and not `heapscope attach`. */
  isOfDaemon?: boolean;
  /* Only `heapscope attach` can do it, and not the daemon. */
  isOfAttach?: boolean;
  /* Only where processes are chosen by name. */
  isOfNames?: boolean;
}

export interface Group {
  title: string;
  words: string;
  fields: readonly Field[];
}

const text = (name: string, label: string, placeholder: string, hint: string): Field => ({
  name,
  label,
  placeholder,
  hint,
  kind: "text",
});
const flag = (name: string, label: string, hint: string): Field => ({
  name,
  label,
  hint,
  kind: "flag",
});
const ofNames = (field: Field): Field => ({ ...field, isOfDaemon: true, isOfNames: true });

export const GROUPS: readonly Group[] = [
  {
    title: "Which processes",
    words: "Children that a process forks later are recorded with it.",
    fields: [
      flag("children", "Its children, too", "Also record the children that it already has."),
      {
        ...flag(
          "no-follow",
          "Nothing but this process",
          "Neither children that it forks later nor programs that it executes.",
        ),
        isOfAttach: true,
      },
      ofNames(
        text("min-memory", "At least this much memory", "100M", "Leave out smaller processes."),
      ),
      ofNames(
        flag("no-running", "Only processes that start later", "Leave out those that run already."),
      ),
      ofNames(
        flag("no-startup", "Only processes that run now", "Leave out those that start later."),
      ),
    ],
  },
  {
    title: "How exactly",
    words: "A smaller interval finds smaller things, and slows the process down more.",
    fields: [
      text(
        "interval",
        "Sampling interval",
        "4096",
        "One sample for so many allocated bytes: 4096, 64K. 1 records every allocation. Empty: " +
          "4096, and 32768 for objects of Python.",
      ),
      flag("lifetimes", "Lifetimes", "How long freed blocks lived, and which were temporary."),
      flag(
        "native-only",
        "Native functions only",
        "No functions of Python, Java, JavaScript, Perl, PHP, Ruby.",
      ),
      flag("no-types", "No types", "Do not read the types of blocks in the process's memory."),
    ],
  },
  {
    title: "Which heaps",
    words: "malloc's is libc.malloc, Python's small objects are python.obj. Empty: all.",
    fields: [
      text(
        "heaps",
        "Only these heaps",
        "libc.malloc,arena=64K",
        "Names or patterns with commas between them; NAME=BYTES has an interval of its own.",
      ),
      flag("all-heaps", "The other heaps, too", "If the field above only sets intervals."),
      text("exclude-heaps", "Not these heaps", "gpu*", "Names or patterns."),
    ],
  },
  {
    title: "When to take snapshots",
    words: "A snapshot is what lives at one moment. One is always taken at the end.",
    fields: [
      text("dump-every", "Every", "10s", "A snapshot after each such time: 500ms, 10s, 5m."),
      text("dump-phase", "The first one after", "30s", "With “Every”: how long after the start."),
      flag("dump-at-max", "At each new peak", "When live memory is a sixteenth above the last."),
      text("dump-above", "Above", "1G", "When live memory rises above this size."),
      text("duration", "Stop after", "5m", "Empty: it records until you stop it."),
    ],
  },
  {
    title: "What else to record",
    words: "These make the file larger, and do not change the heap profile.",
    fields: [
      flag("blocks", "Each live block", "With address, age and type, for queries in SQL."),
      flag("smaps", "Memory mappings", "At each snapshot: how much of each file is resident."),
      text("counters", "Counters of the process", "1s", "RSS, faults, CPU time; “off” for none."),
      text("system-stats", "Counters of the machine", "1s", "Memory and pressure. Empty: none."),
      flag("no-symbolize", "No function names", "They are looked up later, on this computer."),
    ],
  },
  {
    title: "Limits",
    words: "At a limit, the profile becomes coarser. Recording does not end.",
    fields: [
      text("max-overhead", "CPU time in the process", "1%", "A share of its own CPU time."),
      text("max-memory", "Memory of the recording", "64M", "For each process."),
      text("max-cpu-secs", "CPU time of heapscope", "60", "In seconds: fewer snapshots then."),
      {
        ...text("session", "Name of the session", "my-test", "Letters, digits, “.”, “_”, “-”."),
        isOfDaemon: true,
      },
    ],
  },
];

/* What is recorded: one process, or those with a name. */
export interface Target {
  pid: number | null;
  name: string;
  isAll: boolean;
}

function isSet(value: string | boolean | undefined): value is string | true {
  return value === true || (typeof value === "string" && value.trim() !== "");
}

export function fieldsOf(group: Group, target: Target, hasDaemon: boolean): Field[] {
  return group.fields.filter(
    (field) =>
      (hasDaemon ? !field.isOfAttach : !field.isOfDaemon) &&
      (target.pid === null || !field.isOfNames),
  );
}

/* The settings as the server reads them. */
export function settingsOf(target: Target, values: Values, hasDaemon: boolean) {
  const settings: Record<string, string | boolean | number[]> = {};
  if (target.pid !== null) settings["pid"] = [target.pid];
  else if (target.isAll) settings["all"] = true;
  else settings["name"] = target.name.trim();
  for (const group of GROUPS) {
    for (const { name } of fieldsOf(group, target, hasDaemon)) {
      const value = values[name];
      if (isSet(value)) settings[name] = value === true ? true : value.trim();
    }
  }
  return settings;
}

/* The same as arguments of an address. */
export function queryOf(settings: ReturnType<typeof settingsOf>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) {
    for (const each of Array.isArray(value) ? value : [value]) params.append(name, String(each));
  }
  return params.toString();
}

/* How many settings are not at their defaults. */
export function changedCount(values: Values): number {
  return Object.values(values).filter(isSet).length;
}
