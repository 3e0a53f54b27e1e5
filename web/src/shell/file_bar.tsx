/*
 * Which file the views show, of those that the server has; and the file as a download.
 */
import { Select } from "../controls/select.tsx";
import { downloadPath, type ServedFile } from "../data/server.ts";
import { filesOfKey } from "../data/served_files.ts";
import { bytes, cut } from "../format.ts";
import { currentAddress, navigate, type Changes } from "../state.ts";

/* Another file: what was chosen in the one before has no meaning in it, but for the view. */
export function changesForFile(file: string | null, view: string | null): Changes {
  const changes: Changes = {};
  const keys = new URLSearchParams(currentAddress().text.replace(/^#/, "")).keys();
  for (const key of keys) changes[key] = null;
  return { ...changes, view, file };
}

function optionText(file: ServedFile): string {
  return `${cut(file.name, 80)}${file.bytes === undefined ? "" : `, ${bytes(file.bytes)}`}`;
}

interface Props {
  files: readonly ServedFile[];
  current: string;
}

export function FileBar({ files, current }: Props) {
  const there = files.filter((file) => file.is_complete);
  const options = there.map((file) => ({ value: String(file.file), text: optionText(file) }));
  const given = there.filter((file) => file.is_given);
  if (given.length > 1) {
    const all = given.map((file) => file.file).join();
    options.unshift({ value: all, text: `the ${given.length} files of the command line` });
  }
  if (!options.some((option) => option.value === current)) {
    options.unshift({ value: current, text: `file ${current}` });
  }
  const shown = filesOfKey(current, there);
  const view = currentAddress().get("view");
  return (
    <div class="shell-files not-printed">
      <Select
        label="File"
        value={current}
        options={options}
        onChange={(value) => navigate(changesForFile(value, view))}
      />
      {shown.length === 1 && (
        <a href={downloadPath(shown[0].file, "trace")} download={shown[0].name}>
          Save the trace
        </a>
      )}
    </div>
  );
}
