/*
 * The views of the page, in the order of the navigation. A view is a folder with one entry
 * component; no view includes another one, and the shell draws each below the warnings that touch
 * it.
 */
import type { ComponentType } from "preact";

import type { Profile } from "./data/profile.ts";
import type { Selection } from "./data/selection.ts";
import { Diff } from "./diff/diff.tsx";
import { canCompare } from "./diff/sides.ts";
import { Flame } from "./flame/flame.tsx";
import { Details } from "./details/heap_details.tsx";
import { Health } from "./health/health.tsx";
import { Leaks } from "./leaks/leaks.tsx";
import { Ledger } from "./ledger/ledger.tsx";
import { Overview } from "./overview/overview.tsx";
import { Table } from "./table/table.tsx";
import { hasTimes } from "./timeline/what_is_shown.ts";
import { Timeline } from "./timeline/timeline.tsx";
import { hasTrend, Trend } from "./trend/trend.tsx";

export interface ViewProps {
  profile: Profile;
  /* What the address selects, which all views share. */
  selection: Selection;
  /* The ids of the views that this profile has: a view links to those only. */
  views: readonly string[];
}

export interface View {
  /* The value of `view` in the address. */
  id: string;
  title: string;
  component: ComponentType<ViewProps>;
  /* The figures that it shows, by the names that `views` of a warning has (docs/PAGE.md). */
  figures: (selection: Selection) => readonly string[];
  /* Left out: it is there for every profile. */
  isThere?: (profile: Profile) => boolean;
}

const FIGURES = ["space", "objects", "alloc_space", "alloc_objects", "peak"];

export const VIEWS: readonly View[] = [
  {
    id: "overview",
    title: "Overview",
    component: Overview,
    figures: () => ["space", "objects", "alloc_space", "alloc_objects", "peak", "rss", "names"],
  },
  {
    id: "timeline",
    title: "Timeline",
    component: Timeline,
    figures: ({ measure }) => [measure.name, "rss"],
    isThere: hasTimes,
  },
  {
    id: "flame",
    title: "Flame graph",
    component: Flame,
    figures: ({ measure, parts }) => [
      measure.name,
      "stacks",
      "names",
      ...(parts.thread === null ? [] : ["threads"]),
      ...(parts.type === null ? [] : ["types"]),
    ],
  },
  {
    id: "table",
    title: "Table",
    component: Table,
    figures: () => [...FIGURES, "threads", "types", "stacks", "names"],
  },
  {
    id: "details",
    title: "Heap details",
    component: Details,
    figures: (selection) => [selection.measure.name, "types", "stacks", "names"],
  },
  {
    id: "ledger",
    title: "Resident memory",
    component: Ledger,
    figures: () => ["rss"],
  },
  {
    id: "leaks",
    title: "Leaks",
    component: Leaks,
    figures: () => ["leaks", "lifetimes", "stacks", "names"],
  },
  {
    id: "health",
    title: "Health",
    component: Health,
    /* It has all warnings itself, and no figure that one could make uncertain. */
    figures: () => [],
  },
  {
    id: "diff",
    title: "Difference",
    component: Diff,
    figures: ({ measure }) => [measure.name, "stacks", "names"],
    isThere: canCompare,
  },
  {
    id: "trend",
    title: "Trend",
    component: Trend,
    figures: () => ["space", "names", "leaks"],
    isThere: hasTrend,
  },
];
