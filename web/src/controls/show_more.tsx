/*
 * Below a table that shows its first rows: a button for more of them.
 */
import { plural } from "../format.ts";

interface Props {
  shown: number;
  all: number;
  onMore: () => void;
}

export function ShowMore({ shown, all, onMore }: Props) {
  if (all <= shown) return null;
  return (
    <p>
      <button type="button" onClick={onMore}>
        Show more
      </button>{" "}
      <span class="muted">
        {shown} of {plural(all, "row")}
      </span>
    </p>
  );
}
