/*
 * The settings of a new recording, in groups, beside what they are as a TraceConfig and as a
 * command. With the defaults, one press of “Start” is enough.
 */
import { useEffect, useState } from "preact/hooks";

import { getJson, postJson, sentence, ServerError } from "../data/server.ts";
import { cut, plural } from "../format.ts";
import { Trouble } from "../shell/trouble.tsx";
import { usePromise } from "../shell/use_promise.ts";
import { navigate } from "../state.ts";
import type { MachineProcess, MachineProcesses, Sessions, Started } from "./answers.ts";
import { ConfigText } from "./config_text.tsx";
import { reasonOf } from "./machine_rows.ts";
import {
  changedCount,
  fieldsOf,
  GROUPS,
  settingsOf,
  type Field,
  type Group,
  type Target,
  type Values,
} from "./settings.ts";
import { useAction } from "./use_action.ts";

interface FieldProps {
  field: Field;
  value: string | boolean | undefined;
  onChange: (value: string | boolean) => void;
}

function FieldRow({ field, value, onChange }: FieldProps) {
  const id = `live-setting-${field.name}`;
  const hint = `${id}-hint`;
  if (field.kind === "flag") {
    return (
      <div class="live-field">
        <label>
          <input
            id={id}
            type="checkbox"
            checked={value === true}
            aria-describedby={hint}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />{" "}
          {field.label}
        </label>
        <p id={hint} class="muted">
          {field.hint}
        </p>
      </div>
    );
  }
  return (
    <div class="live-field">
      <label for={id}>{field.label}</label>
      <input
        id={id}
        type="text"
        value={typeof value === "string" ? value : ""}
        placeholder={field.placeholder ? `such as ${field.placeholder}` : ""}
        aria-describedby={hint}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <p id={hint} class="muted">
        {field.hint}
      </p>
    </div>
  );
}

interface GroupProps {
  group: Group;
  fields: readonly Field[];
  values: Values;
  onChange: (name: string, value: string | boolean) => void;
}

function GroupBox({ group, fields, values, onChange }: GroupProps) {
  return (
    <fieldset class="live-group">
      <legend>{group.title}</legend>
      <p class="muted">{group.words}</p>
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          value={values[field.name]}
          onChange={(value) => onChange(field.name, value)}
        />
      ))}
    </fieldset>
  );
}

interface NamesProps {
  target: Target;
  hasDaemon: boolean;
  onChange: (target: Target) => void;
}

/* For processes by name. */
function Names({ target, hasDaemon, onChange }: NamesProps) {
  return (
    <fieldset class="live-group">
      <legend>Which processes</legend>
      <div class="live-field">
        <label for="live-names">Name</label>
        <input
          id="live-names"
          type="text"
          value={target.name}
          placeholder="such as nginx, or my*"
          disabled={target.isAll}
          spellcheck={false}
          autocomplete="off"
          aria-describedby="live-names-hint"
          onInput={(event) => onChange({ ...target, name: event.currentTarget.value })}
        />
        <p id="live-names-hint" class="muted">
          Processes of this name that run
          {hasDaemon ? ", and those that start later" : " now"}. “*” is any text.
        </p>
      </div>
      {hasDaemon && (
        <div class="live-field">
          <label>
            <input
              type="checkbox"
              checked={target.isAll}
              onChange={(event) => onChange({ ...target, isAll: event.currentTarget.checked })}
            />{" "}
            All that have loaded heapscope’s library
          </label>
        </div>
      )}
    </fieldset>
  );
}

/* What is known about the chosen process. */
function useProcess(pid: number | null) {
  const { value } = usePromise(async () => {
    if (pid === null) return null;
    const { processes } = await getJson<MachineProcesses>("api/processes");
    return processes.find((process) => process.pid === pid) ?? "gone";
  }, [pid]);
  return value;
}

function useHasDaemon(): boolean {
  const { value } = usePromise(() => getJson<Sessions>("api/sessions"), []);
  return value?.daemon != null;
}

function refusal(process: MachineProcess): ServerError {
  const what = `${cut(process.name, 60)} cannot be recorded. ${reasonOf(process)}`;
  return new ServerError(409, what, sentence(process.remedy ?? ""));
}

async function begin(settings: ReturnType<typeof settingsOf>, pid: number | null) {
  await postJson<Started>("api/start", settings);
  navigate({ "live.record": null, "live.pid": pid });
}

export function RecordForm({ pid }: { pid: number | null }) {
  const [values, setValues] = useState<Values>({});
  const [target, setTarget] = useState<Target>({ pid, name: "", isAll: false });
  const hasDaemon = useHasDaemon();
  const process = useProcess(pid);
  const settings = settingsOf(target, values, hasDaemon);
  const isNamed = pid !== null || target.isAll || target.name.trim() !== "";
  const start = useAction(() => begin(settings, pid));
  const known = process !== null && process !== "gone" ? process : null;
  const change = (name: string, value: string | boolean) =>
    setValues((before) => ({ ...before, [name]: value }));
  const submit = (event: Event) => {
    event.preventDefault();
    start.run();
  };
  useEffect(() => document.getElementById("live-start")?.focus(), []);
  const changed = changedCount(values);
  const what = pid === null ? "processes by name" : (known?.name ?? `process ${pid}`);
  return (
    <form class="live-form" onSubmit={submit}>
      <div class="live-form-head">
        <h2>
          Record <bdi>{cut(what, 60)}</bdi>
          {known && <span class="muted"> process {pid}</span>}
        </h2>
        <button
          id="live-start"
          type="submit"
          class="live-main-action"
          disabled={start.isRunning || !isNamed}
        >
          {start.isRunning ? "Starting…" : "Start recording"}
        </button>
        <p class="muted">
          {changed === 0
            ? "Nothing has to be set: the defaults cost most programs little."
            : `${plural(changed, "setting")} changed.`}
        </p>
      </div>
      {start.error !== null && <Trouble error={start.error} />}
      {process === "gone" && start.error === null && (
        <Trouble error={new Error(`There is no process ${pid} in the list: it may have ended`)} />
      )}
      {known?.eligible === false && start.error === null && <Trouble error={refusal(known)} />}
      {pid === null && !hasDaemon && (
        <p class="live-note">
          No daemon runs. To record processes that start later, too, start “heapscoped” in a
          terminal first.
        </p>
      )}
      <div class="live-form-grid">
        <div class="live-groups">
          {pid === null && <Names target={target} hasDaemon={hasDaemon} onChange={setTarget} />}
          {GROUPS.map((group) => {
            const fields = fieldsOf(group, target, hasDaemon);
            return (
              <GroupBox
                key={group.title}
                group={
                  pid === null && group === GROUPS[0] ? { ...group, title: "Of these" } : group
                }
                fields={fields}
                values={values}
                onChange={change}
              />
            );
          })}
        </div>
        {isNamed && <ConfigText settings={settings} />}
      </div>
    </form>
  );
}
