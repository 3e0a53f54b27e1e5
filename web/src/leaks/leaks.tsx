/*
 * The view "Leaks": which stacks keep their blocks while new ones come, how old the blocks are, and
 * how long those lived that were freed. The verdicts are those of the report.
 */
import { partsOfReport, type LeakVerdict } from "../data/report_parts.ts";
import { keepUnits } from "../format.ts";
import { Failure } from "../shell/failure.tsx";
import { usePromise } from "../shell/use_promise.ts";
import { useParam } from "../state.ts";
import type { ViewProps } from "../views.ts";
import { LeakList } from "./leak_list.tsx";
import "./leaks.css";
import { LifetimeCard } from "./lifetimes.tsx";

const VERDICTS: readonly { verdict: LeakVerdict; title: string; words: string }[] = [
  {
    verdict: "leaks",
    title: "Leaks",
    words: "blocks that are not freed while new ones keep coming",
  },
  {
    verdict: "unsure",
    title: "Growing, but maybe no leaks",
    words: "too few blocks or samples to be sure",
  },
  {
    verdict: "replaced",
    title: "Replaced",
    words: "old blocks are freed as new ones come, as caches and queues do",
  },
  {
    verdict: "stopped",
    title: "Not growing",
    words: "blocks that are kept, of stacks that had stopped growing before the end",
  },
];

function LeaksOfFile({ profile, file }: { profile: ViewProps["profile"]; file: number }) {
  const report = usePromise(() => profile.report(file), [profile, file]);
  const [chosen, setChosen] = useParam("leaks.verdict", "");
  if (report.error !== null) return <Failure what="The report is missing" error={report.error} />;
  if (!report.value) return <p class="loading">Reading the report…</p>;
  const { leaks, lifetimes } = partsOfReport(report.value);
  if (!leaks) return <p>When blocks were allocated was not recorded, so leaks are not known.</p>;
  const groups = VERDICTS.map((each) => ({
    ...each,
    stacks: leaks.stacks.filter((stack) => stack.verdict === each.verdict),
  })).filter(({ stacks }) => stacks.length > 0);
  const current = groups.find(({ verdict }) => verdict === chosen) ?? groups[0];
  return (
    <div class="leaks-view">
      <section class="leaks-card leaks-answer">
        <h2>What is not freed?</h2>
        <p class="leaks-words">{keepUnits(leaks.answer)}</p>
        <p class="muted">{keepUnits(leaks.comparison)}</p>
      </section>
      {groups.length > 0 && (
        <section class="leaks-card">
          <div class="leaks-verdicts not-printed" role="group" aria-label="Verdict">
            {groups.map(({ verdict, title, stacks }) => (
              <button
                key={verdict}
                type="button"
                aria-pressed={verdict === current.verdict}
                onClick={() => setChosen(verdict)}
              >
                {title} ({stacks.length})
              </button>
            ))}
          </div>
          <h2>{current.title}</h2>
          <p class="muted">{current.words}</p>
          <LeakList
            profile={profile}
            stacks={current.stacks}
            verdict={current.verdict}
            spanSeconds={leaks.span_seconds}
          />
        </section>
      )}
      <LifetimeCard profile={profile} lifetimes={lifetimes ?? null} />
    </div>
  );
}

export function Leaks({ profile }: ViewProps) {
  return (
    <>
      {profile.files.map((file, i) => (
        <div key={i}>
          {profile.files.length > 1 && (
            <h2 class="name leaks-file">
              <bdi>{file.name}</bdi>
            </h2>
          )}
          <LeaksOfFile profile={profile} file={i} />
        </div>
      ))}
    </>
  );
}
