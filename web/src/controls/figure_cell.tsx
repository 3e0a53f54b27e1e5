/*
 * A figure with its share of a whole and its margin, in the two lines of a table's cell.
 */
import { figureAt, type Figures } from "../data/figures.ts";
import { marginOf } from "../data/margin.ts";
import { margin, NOT_RECORDED, share } from "../format.ts";

interface Props {
  /* null: not recorded. */
  figures: Figures | null;
  at: number;
  whole: number;
  format: (value: number) => string;
  /* Figures are lower bounds: no margin holds. */
  isLossy: boolean;
}

/* "± 1.20 MiB", "", or "at least": what the margin of a figure says. */
export function marginText(
  figures: Figures,
  at: number,
  format: (value: number) => string,
  isLossy: boolean,
): string {
  if (isLossy) return "";
  const { value } = figureAt(figures, at);
  const { below, above } = marginOf(figureAt(figures, at));
  return margin(value, value - below, value + above, format);
}

export function FigureCell({ figures, at, whole, format, isLossy }: Props) {
  if (!figures) return <span class="muted">{NOT_RECORDED}</span>;
  const value = figures.value[at];
  if (value === 0) return <span class="muted">0</span>;
  const words = marginText(figures, at, format, isLossy);
  const shareWords = share(value, whole);
  return (
    <span title={`${isLossy ? "at least " : ""}${format(value)} ${words}, ${shareWords}`}>
      <span class="muted controls-figure-share">{shareWords}</span> {format(value)}
      {words && <small>{words}</small>}
    </span>
  );
}
