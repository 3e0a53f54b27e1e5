/*
 * One function: what it holds, who calls it, what it calls. Each caller and callee leads to its own
 * panel, and each panel has an address.
 */
import { useMemo } from "preact/hooks";

import { FigureCell } from "../controls/figure_cell.tsx";
import { addFilter } from "../controls/filter_bar.tsx";
import { NameText } from "../controls/name_text.tsx";
import type { Figures } from "../data/figures.ts";
import type { Measure } from "../data/measures.ts";
import { functionName, moduleName, shortName } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { exactPattern } from "../data/select_filters.ts";
import { plural } from "../format.ts";
import { linkTo } from "../state.ts";
import { functionAddress } from "./function_address.ts";
import { largestFirst, neighboursOf, OUTERMOST, SELF, TOTAL } from "./neighbours.ts";
import type { Sums } from "./sums.ts";

const SHOWN = 30;

interface ListProps {
  profile: Profile;
  title: string;
  figures: Figures;
  measure: Measure;
  whole: number;
  isLossy: boolean;
  /* A first line that is no function. */
  first: { title: string; figures: Figures; at: number } | null;
}

function Neighbours(props: ListProps) {
  const { profile, title, figures, measure, whole, isLossy, first } = props;
  const found = largestFirst(figures);
  const others = found.slice(SHOWN);
  const cell = (of: Figures, at: number) => (
    <td class="number">
      <FigureCell figures={of} at={at} whole={whole} format={measure.format} isLossy={isLossy} />
    </td>
  );
  const hasFirst = first !== null && first.figures.value[first.at] !== 0;
  return (
    <section>
      <h3>{title}</h3>
      {found.length === 0 && !hasFirst && <p class="muted">None.</p>}
      <table class="table-neighbours">
        <tbody>
          {hasFirst && (
            <tr>
              <td class="muted">{first.title}</td>
              {cell(first.figures, first.at)}
            </tr>
          )}
          {found.slice(0, SHOWN).map((index) => (
            <tr key={index}>
              <td>
                <a href={linkTo(functionAddress(profile, index))}>
                  <NameText
                    text={shortName(profile, index)}
                    whole={functionName(profile, index)}
                    most={90}
                  />
                </a>
              </td>
              {cell(figures, index)}
            </tr>
          ))}
        </tbody>
      </table>
      {others.length > 0 && (
        <p class="muted">and {plural(others.length, "more function")} with less each.</p>
      )}
    </section>
  );
}

interface Props {
  profile: Profile;
  sums: Sums;
  measure: Measure;
  index: number;
  isLossy: boolean;
  views: readonly string[];
}

export function FunctionPanel({ profile, sums, measure, index, isLossy, views }: Props) {
  const { found, whole } = useMemo(() => {
    const entries = sums.entries(measure.name);
    let sum = 0;
    for (let i = 0; i < entries.count; i++) sum += entries.figures.value[i];
    return { found: neighboursOf(profile, entries, index), whole: sum };
  }, [profile, sums, measure, index]);
  const name = functionName(profile, index);
  const shared = { profile, measure, whole, isLossy };
  return (
    <aside class="table-panel" aria-label="Callers and callees">
      <div class="table-panel-head">
        <h2>
          <NameText text={shortName(profile, index)} whole={name} most={200} />
        </h2>
        <a href={linkTo({ "table.function": null, "table.in": null })} aria-label="Close">
          Close
        </a>
      </div>
      <p class="muted">
        <NameText text={moduleName(profile, index)} most={120} />
      </p>
      <p>
        {measure.title} in the stacks with it:{" "}
        <b>
          <FigureCell
            figures={found.own}
            at={TOTAL}
            whole={whole}
            format={measure.format}
            isLossy={isLossy}
          />
        </b>
      </p>
      <p class="table-actions not-printed">
        <button type="button" onClick={() => addFilter("show-stack", exactPattern(name))}>
          Only stacks with it
        </button>
        <button type="button" onClick={() => addFilter("hide-stack", exactPattern(name))}>
          Without them
        </button>
        {views.includes("flame") && (
          <a href={linkTo({ view: "flame", "flame.search": name })}>Flame graph</a>
        )}
      </p>
      <Neighbours
        {...shared}
        title="Called by"
        figures={found.callers}
        first={{ title: "nothing: it is outermost", figures: found.own, at: OUTERMOST }}
      />
      <Neighbours
        {...shared}
        title="Calls"
        figures={found.callees}
        first={{ title: "nothing: the stack ends here", figures: found.own, at: SELF }}
      />
    </aside>
  );
}
