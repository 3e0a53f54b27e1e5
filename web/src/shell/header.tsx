/*
 * What was recorded: program, command, process, time; and the choice between light and dark.
 */
import type { Profile } from "../data/profile.ts";
import { cut, duration, moment, plural } from "../format.ts";
import { ThemeButton } from "./theme_button.tsx";

const COMMAND_CHARACTERS = 400;

function Facts({ profile }: { profile: Profile }) {
  const recorded = profile.processes
    .filter((process) => process.refusal === null)
    .sort((a, b) => a.file - b.file || (a.start_ms ?? 0) - (b.start_ms ?? 0));
  const first = recorded[0] ?? profile.processes[0];
  const file = profile.files[0];
  const facts: string[] = [];
  if (profile.files.length > 1) facts.push(`${profile.files.length} files`);
  if (recorded.length === 1 && first.pid > 0) facts.push(`pid ${first.pid}`);
  if (recorded.length > 1) facts.push(plural(recorded.length, "process", "processes"));
  if (file?.start_unix_ms != null) facts.push(moment(file.start_unix_ms / 1000));
  if (file?.end_ms != null && file.end_ms > 0) facts.push(duration(file.end_ms / 1000));
  if (profile.snapshots.length > 1) facts.push(plural(profile.snapshots.length, "snapshot"));
  if (file?.origin) facts.push(file.origin);
  const command = first && first.cmdline !== first.name ? first.cmdline : "";
  return (
    <div class="shell-facts">
      {command && (
        <p class="name cut" title={cut(command, 2000)}>
          {cut(command, COMMAND_CHARACTERS)}
        </p>
      )}
      <p class="muted">{facts.join(" · ")}</p>
    </div>
  );
}

export function Header({ profile }: { profile: Profile }) {
  return (
    <header class="shell-header">
      <div class="shell-title">
        <p class="shell-product">heapscope</p>
        <h1 class="cut" title={cut(profile.title, 2000)}>
          <bdi>{cut(profile.title, 200)}</bdi>
        </h1>
      </div>
      <Facts profile={profile} />
      <ThemeButton />
    </header>
  );
}
