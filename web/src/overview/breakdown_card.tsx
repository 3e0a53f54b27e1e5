/*
 * The largest parts of the memory, by function, module, heap, process, thread or type, as bars.
 */
import { useMemo, useState } from "preact/hooks";

import { BarList, type Bar } from "../controls/bar_list.tsx";
import { breakdown, breakdownName, type BreakdownKey } from "../data/breakdown.ts";
import { functionName, isOfProgram, moduleName } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import type { LoadedRows, Selection } from "../data/selection.ts";
import { cut, plural } from "../format.ts";
import { linkTo } from "../state.ts";

const SHOWN = 8;
const KEYS: readonly { key: BreakdownKey; title: string }[] = [
  { key: "function", title: "Functions" },
  { key: "module", title: "Modules" },
  { key: "type", title: "Types" },
  { key: "thread", title: "Threads" },
  { key: "heap", title: "Heaps" },
  { key: "process", title: "Processes" },
];

interface Props {
  profile: Profile;
  rows: LoadedRows[];
  selection: Selection;
  views: readonly string[];
  /* What the shares are of: the total of the report. */
  whole: number;
}

/* The name of a function leads to where it stands in the flame graph. */
function Name({ profile, id, views }: { profile: Profile; id: number; views: readonly string[] }) {
  const name = functionName(profile, id);
  const words = (
    <bdi class="name" title={cut(name, 2000)}>
      {cut(breakdownName(profile, "function", id), 160)}
    </bdi>
  );
  /* The one program need not be named again and again. */
  const isOnly = profile.processes.length === 1 && isOfProgram(profile, id);
  const module = isOnly ? "" : cut(moduleName(profile, id), 80);
  return (
    <>
      {views.includes("flame") ? (
        <a href={linkTo({ view: "flame", "flame.search": name })}>{words}</a>
      ) : (
        words
      )}{" "}
      {module && <small class="muted overview-module">{module}</small>}
    </>
  );
}

export function Breakdown({ profile, rows, selection, views, whole }: Props) {
  const [key, setKey] = useState<BreakdownKey>("function");
  const all = useMemo(() => {
    const known = KEYS.map((each) => ({
      ...each,
      parts: breakdown(profile, rows, selection, each.key),
    }));
    return known.filter(({ parts, key }) => parts && (key === "function" || parts.length > 1));
  }, [profile, rows, selection]);
  const chosen = all.find((each) => each.key === key) ?? all[0];
  const parts = chosen.parts ?? [];
  const shown = parts.slice(0, SHOWN);
  const others = parts.slice(SHOWN);
  const bars: Bar[] = shown.map(({ id, value }) => ({
    key: String(id),
    value,
    name:
      chosen.key === "function" ? (
        <Name profile={profile} id={id} views={views} />
      ) : (
        <bdi class="name">{cut(breakdownName(profile, chosen.key, id), 160)}</bdi>
      ),
  }));
  if (others.length > 0) {
    bars.push({
      key: "others",
      value: others.reduce((sum, part) => sum + part.value, 0),
      name: <span class="muted">{plural(others.length, "other")}</span>,
      colour: "var(--line-strong)",
    });
  }
  return (
    <section class="overview-card">
      <div class="overview-card-head">
        <h2>{selection.measure.title}, largest parts</h2>
        <div class="overview-keys not-printed" role="group" aria-label="Divide by">
          {all.map((each) => (
            <button
              key={each.key}
              type="button"
              aria-pressed={each.key === chosen.key}
              onClick={() => setKey(each.key)}
            >
              {each.title}
            </button>
          ))}
        </div>
      </div>
      {parts.length === 0 ? (
        <p>No memory of this kind was recorded.</p>
      ) : (
        <BarList bars={bars} whole={whole} format={selection.measure.format} />
      )}
    </section>
  );
}
