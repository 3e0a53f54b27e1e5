/*
 * What the reader can do with the charts: by mouse and keys, or by finger.
 */
const BY_MOUSE =
  "Click a diamond: its stacks. Ctrl-click two: their difference. Drag: enlarge. Double-click: " +
  "all. Keys: + − ← → 0, Shift+← → for the end and Shift+↑ ↓ for the beginning; on the diamonds " +
  "← → Enter, Shift+Enter.";

const BY_FINGER =
  "Tap a diamond: its stacks. Tap a chart: the time there. Drag to the side over a chart: " +
  "enlarge. The button “Whole time” shows all again. The list “Snapshots as a table”, below, " +
  "compares two.";

export function hintOf(isTouch: boolean): string {
  return isTouch ? BY_FINGER : BY_MOUSE;
}

/* How the second of two snapshots is chosen. */
export function pairHintOf(isTouch: boolean): string {
  return isTouch
    ? "choose another one in “Snapshots as a table”, below, to see what changed"
    : "ctrl-click another one to see what changed";
}
