/*
 * What stands in place of losses and cut stacks where there are none: "none" only of a file that
 * records them.
 */
import { NOT_RECORDED } from "../format.ts";

/* null: the losses say all. */
export function lossText(count: number | null, isKnown: boolean): string | null {
  if (count === null || !isKnown) return `What was lost was ${NOT_RECORDED}.`;
  return count === 0 ? "No loss was counted." : null;
}

export function noCutText(isKnown: boolean): string {
  return isKnown
    ? "None: no module is known in which stacks end that should go on."
    : `Which stacks were cut was ${NOT_RECORDED}.`;
}
