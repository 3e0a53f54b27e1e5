/*
 * Which file the views show, of those that the server has; and the file as a download.
 */
import { Select } from "../controls/select.tsx";
import { downloadPath, type ServedFile } from "../data/server.ts";
import { filesOfKey } from "../data/served_files.ts";
import { bytes, cut, moment } from "../format.ts";
import { currentAddress, navigate, type Changes } from "../state.ts";

/* Another file: what was chosen in the one before has no meaning in it, but for the view. */
export function changesForFile(file: string | null, view: string | null): Changes {
  const changes: Changes = {};
  const keys = new URLSearchParams(currentAddress().text.replace(/^#/, "")).keys();
  for (const key of keys) changes[key] = null;
  return { ...changes, view, file };
}

function optionText(file: ServedFile): string {
  if (file.is_moment && file.modified_unix_ms !== undefined) {
    return `moment of ${moment(file.modified_unix_ms / 1000).slice(11)}, ${cut(file.name, 40)}`;
  }
  return `${cut(file.name, 80)}${file.bytes === undefined ? "" : `, ${bytes(file.bytes)}`}`;
}

interface Props {
  files: readonly ServedFile[];
  current: string;
}

/* A second file beside the first: the view “Difference” compares them. */
function Second({ files, current }: Props) {
  const [first, second = ""] = current.split(",");
  const others = files.filter((file) => String(file.file) !== first);
  if (others.length === 0 || current.split(",").length > 2) return null;
  const options = others.map((file) => ({ value: String(file.file), text: optionText(file) }));
  return (
    <Select
      label="and"
      value={second}
      options={[{ value: "", text: "no other" }, ...options]}
      onChange={(value) => open(value ? `${first},${value}` : first)}
    />
  );
}

function open(file: string): void {
  navigate(changesForFile(file, currentAddress().get("view")));
}

export function FileBar({ files, current }: Props) {
  const there = files.filter((file) => file.is_complete);
  const options = there.map((file) => ({ value: String(file.file), text: optionText(file) }));
  const given = there.filter((file) => file.is_given);
  const [first, ...others] = current.split(",");
  const value = others.length > 1 ? current : first;
  if (given.length > 2) {
    const all = given.map((file) => file.file).join();
    options.unshift({ value: all, text: `the ${given.length} files of the command line` });
  }
  if (!options.some((option) => option.value === value)) {
    options.unshift({ value, text: `file ${value}` });
  }
  const shown = filesOfKey(current, there);
  return (
    <div class="shell-files not-printed">
      <Select label="File" value={value} options={options} onChange={open} />
      <Second files={there} current={current} />
      {shown.length === 1 && (
        <a href={downloadPath(shown[0].file, "trace")} download={shown[0].name}>
          Save the trace
        </a>
      )}
    </div>
  );
}
