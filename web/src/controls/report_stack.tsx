/*
 * A stack of a report: the function that allocated and its callers in a line, and all of it when
 * it is opened.
 */
import { functionName } from "../data/names.ts";
import { FunctionClass, type Profile } from "../data/profile.ts";
import type { ReportFrame } from "../data/report_parts.ts";
import "./controls.css";
import { NameText } from "./name_text.tsx";

const SHOWN = 3;

function FrameName({ frame, most }: { frame: ReportFrame; most: number }) {
  return <NameText text={frame.function} most={most} />;
}

const namesOf = new WeakMap<Profile, Map<string, number>>();

/* The function of this name; -1: the profile has none. */
function indexOf(profile: Profile, name: string): number {
  let names = namesOf.get(profile);
  if (!names) {
    names = new Map();
    for (let i = 0; i < profile.functions.count; i++) names.set(functionName(profile, i), i);
    namesOf.set(profile, names);
  }
  return names.get(name) ?? -1;
}

/* The innermost frame that does not merely allocate for its callers; 0: all of them do. */
export function firstOfProgram(profile: Profile, frames: readonly ReportFrame[]): number {
  const { isWrapper, class: classes } = profile.functions;
  const found = frames.findIndex(({ function: name }) => {
    const index = indexOf(profile, name);
    return index < 0 || (isWrapper[index] === 0 && classes[index] === FunctionClass.Program);
  });
  return Math.max(found, 0);
}

function placeOf(frame: ReportFrame): string {
  if (frame.file) return frame.line ? `${frame.file}:${frame.line}` : frame.file;
  return (frame.module ?? "").replace(/^.*\//, "");
}

interface Props {
  profile: Profile;
  frames: readonly ReportFrame[];
}

export function ReportStack({ profile, frames }: Props) {
  if (frames.length === 0) return <span class="muted">without functions</span>;
  const first = firstOfProgram(profile, frames);
  const callers = frames.slice(first + 1, first + 1 + SHOWN);
  return (
    <details class="controls-stack-frames">
      <summary>
        <FrameName frame={frames[first]} most={120} />
        {callers.length > 0 && (
          <small class="muted">
            {callers.map((frame, i) => (
              <span key={i}>
                {" ← "}
                <FrameName frame={frame} most={60} />
              </span>
            ))}
            {frames.length > first + 1 + SHOWN && " ← …"}
          </small>
        )}
      </summary>
      <ol>
        {frames.map((frame, i) => (
          <li key={i}>
            <FrameName frame={frame} most={300} />{" "}
            <small class="muted">
              <NameText text={placeOf(frame)} most={120} />
            </small>
          </li>
        ))}
      </ol>
    </details>
  );
}
