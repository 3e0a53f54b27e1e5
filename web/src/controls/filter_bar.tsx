/*
 * The filters of stacks, which hold for all views: a chip for each, and a form that adds one or
 * changes one. See data/select_filters.ts.
 */
import { useRef, useState } from "preact/hooks";

import {
  FILTER_KINDS,
  FILTER_TITLES,
  filtersOf,
  filterText,
  patternOf,
  withFilter,
  type FilterKind,
  type StackFilter,
} from "../data/select_filters.ts";
import { cut } from "../format.ts";
import { currentAddress, navigate, useAddress } from "../state.ts";
import "./controls.css";
import "./filter_bar.css";
import { Folded } from "./folded.tsx";

const HELP =
  "Text, or a regular expression between slashes: /^alloc/i. With in: in front, the module or " +
  "script that a function is in";

function setFilters(filters: readonly StackFilter[]): void {
  navigate({ filter: filters.map(filterText) });
}

/* Adds a filter to the address. */
export function addFilter(kind: FilterKind, pattern: string): void {
  setFilters(withFilter(filtersOf(currentAddress()), { kind, pattern }));
}

interface ChipProps {
  filter: StackFilter;
  onEdit: () => void;
  onRemove: () => void;
}

function Chip({ filter, onEdit, onRemove }: ChipProps) {
  const title = FILTER_TITLES[filter.kind];
  const { error } = patternOf(filter.pattern);
  return (
    <li class={`filter-chip${error ? " filter-bad" : ""}`}>
      <button type="button" class="filter-words" onClick={onEdit} title="Change this filter">
        {title}{" "}
        <bdi class="name" title={cut(filter.pattern, 2000)}>
          {cut(filter.pattern, 60)}
        </bdi>
        {error && <span> is no regular expression</span>}
      </button>
      <button
        type="button"
        class="filter-remove"
        onClick={onRemove}
        aria-label={`Remove the filter “${title} ${cut(filter.pattern, 60)}”`}
      >
        <span aria-hidden="true">×</span>
      </button>
    </li>
  );
}

interface FormProps {
  kind: FilterKind;
  pattern: string;
  isChange: boolean;
  onKind: (kind: FilterKind) => void;
  onPattern: (pattern: string) => void;
  onSubmit: () => void;
}

function Form({ kind, pattern, isChange, onKind, onPattern, onSubmit }: FormProps) {
  return (
    <form
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (pattern.trim() !== "") onSubmit();
      }}
    >
      <select
        aria-label="Kind of filter"
        value={kind}
        onChange={(event) => onKind(event.currentTarget.value as FilterKind)}
      >
        {FILTER_KINDS.map((each) => (
          <option key={each} value={each}>
            {FILTER_TITLES[each]}
          </option>
        ))}
      </select>
      <input
        aria-label="Function to filter by"
        placeholder="function or /regex/"
        title={HELP}
        value={pattern}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => onPattern(event.currentTarget.value)}
      />
      <button type="submit">{isChange ? "Change" : "Add filter"}</button>
    </form>
  );
}

export function FilterBar() {
  const filters = filtersOf(useAddress());
  const [kind, setKind] = useState<FilterKind>("show-stack");
  const [pattern, setPattern] = useState("");
  const [changed, setChanged] = useState<string | null>(null);
  const bar = useRef<HTMLDivElement>(null);
  const edit = (filter: StackFilter) => {
    setKind(filter.kind);
    setPattern(filter.pattern);
    setChanged(filterText(filter));
    bar.current?.querySelector("details")?.setAttribute("open", "");
    bar.current?.querySelector("input")?.focus();
  };
  const remove = (filter: StackFilter) => {
    setFilters(filters.filter((each) => each !== filter));
    bar.current?.querySelector("input")?.focus();
  };
  const submit = () => {
    const added = { kind, pattern: pattern.trim() };
    const at = filters.findIndex((each) => filterText(each) === changed);
    if (at >= 0) setFilters(filters.map((each, i) => (i === at ? added : each)));
    else addFilter(added.kind, added.pattern);
    setPattern("");
    setChanged(null);
  };
  return (
    <div class="filter-bar" role="group" aria-label="Filters of stacks" ref={bar}>
      {filters.length > 0 && (
        <ul>
          {filters.map((filter) => (
            <Chip
              key={filterText(filter)}
              filter={filter}
              onEdit={() => edit(filter)}
              onRemove={() => remove(filter)}
            />
          ))}
        </ul>
      )}
      <Folded words="Filter stacks">
        <Form
          kind={kind}
          pattern={pattern}
          isChange={changed !== null}
          onKind={setKind}
          onPattern={setPattern}
          onSubmit={submit}
        />
      </Folded>
      {filters.length > 1 && (
        <button type="button" onClick={() => setFilters([])}>
          Remove all
        </button>
      )}
    </div>
  );
}
