/*
 * Which figures a warning makes uncertain, in words: the report has the names of docs/PAGE.md.
 */
const WORDS: Readonly<Record<string, string>> = {
  space: "live memory",
  objects: "live objects",
  alloc_space: "allocated memory",
  alloc_objects: "allocations",
  peak: "the peak",
  leaks: "leaks",
  lifetimes: "lifetimes",
  threads: "figures by thread",
  types: "figures by type",
  stacks: "stacks, and figures by function and by stack",
  names: "names of functions, and figures by function",
  rss: "resident memory",
};

/* A loss of allocations touches these. */
const OF_ALLOCATIONS = ["space", "objects", "alloc_space", "alloc_objects", "peak"];

/* "Uncertain because of this: names of functions, and figures by function." */
export function touchedWords(views: readonly string[]): string {
  if (views.length === 0) return "No figure is uncertain because of this.";
  const isAll = OF_ALLOCATIONS.every((view) => views.includes(view));
  const rest = isAll ? views.filter((view) => !OF_ALLOCATIONS.includes(view)) : views;
  const words = rest.map((view) => WORDS[view] ?? view);
  if (isAll) words.unshift("all sizes and numbers of objects");
  return `Uncertain because of this: ${words.join("; ")}.`;
}
