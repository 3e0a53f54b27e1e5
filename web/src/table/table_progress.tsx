/*
 * How far a large table is added up, above the rows of the choice before, and the way back to it.
 */
import { type Progress } from "./use_columns.ts";

interface Props {
  progress: Progress;
  /* The address of the rows that are shown; null: there are none. */
  before: string | null;
}

export function TableProgress({ progress: { done, of }, before }: Props) {
  return (
    <p class="loading table-progress not-printed">
      <span>Adding up the stacks…</span>
      <progress aria-label="Adding up the stacks" value={done} max={of} />
      {before !== null && (
        <button type="button" onClick={() => (location.hash = before)}>
          Cancel
        </button>
      )}
    </p>
  );
}
