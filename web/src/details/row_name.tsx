/*
 * The name of a row of the tree, indented to its level, with buttons that break it down.
 */
import { NameText } from "../controls/name_text.tsx";
import { functionName, isOfProgram, moduleName, partName, shortName } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { plural } from "../format.ts";
import type { Dimension } from "./divide.ts";
import type { TreeRow } from "./tree_rows.ts";

const INDENT_PIXELS = 16;
/* Deeper rows are not indented further: their names would leave the picture. */
const INDENTED_LEVELS = 24;
const WORDS: Record<Dimension, string> = { f: "backtrace", t: "type" };

/* The letter T in a circle is drawn: few fonts have that character. */
export function Sign({ of }: { of: Dimension }) {
  return <span class={`details-letter details-letter-${of}`}>{of === "f" ? "ƒ" : "T"}</span>;
}

function Words({ profile, row }: { profile: Profile; row: TreeRow }) {
  const { dimension, index } = row.group.key;
  switch (dimension) {
    case "f":
      return (
        <>
          <NameText text={shortName(profile, index)} whole={functionName(profile, index)} />{" "}
          {!isOfProgram(profile, index) && (
            <span class="muted details-module">
              <NameText text={moduleName(profile, index)} most={60} />
            </span>
          )}
        </>
      );
    case "t":
      return <NameText text={partName(profile, "type", index)} />;
    case "self":
      return <span class="muted">&lt;self&gt; the stack ends here</span>;
    case "rest":
      return (
        <span>
          &lt;other&gt;{" "}
          <span class="muted">{plural(row.group.smallCount, "smaller row")}: show more</span>
        </span>
      );
    default:
      return <b>All of it</b>;
  }
}

interface Props {
  profile: Profile;
  row: TreeRow;
  onBreak: (by: Dimension | null) => void;
}

export function RowName({ profile, row, onBreak }: Props) {
  const { dimension } = row.group.key;
  const indent = INDENT_PIXELS * Math.min(row.level - 1, INDENTED_LEVELS);
  return (
    <span class="details-name" style={{ paddingLeft: `${indent}px` }}>
      <span class="details-breaks">
        {row.canOpenBy.map((by) => (
          <button
            key={by}
            type="button"
            class="details-break"
            tabIndex={-1}
            aria-pressed={row.openBy === by}
            aria-label={row.openBy === by ? "Close" : `Break down by ${WORDS[by]}`}
            onClick={(event) => {
              event.stopPropagation();
              onBreak(row.openBy === by ? null : by);
            }}
          >
            <Sign of={by} />
          </button>
        ))}
      </span>
      {(dimension === "f" || dimension === "t") && (
        <span class={`details-sign details-sign-${dimension}`} title={WORDS[dimension]}>
          <Sign of={dimension} />
        </span>
      )}
      <span class="cut">
        <Words profile={profile} row={row} />
      </span>
    </span>
  );
}
