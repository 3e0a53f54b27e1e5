/*
 * Makes visible what text may hide: control characters, and those that change the direction of the
 * text around them. Names come from files that anybody may have written; two names that look alike
 * shall be alike. Right-to-left letters stay as they are: each name is isolated (<bdi>).
 *
 * It is done once, when a document is read, for all views and all that they save.
 */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const IS_HIDDEN = new RegExp(HIDDEN.source);

function symbolOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/* "\x1b[31m" is "␛[31m", a right-to-left override "⟨U+202E⟩". */
export function visible(text: string): string {
  return IS_HIDDEN.test(text) ? text.replace(HIDDEN, symbolOf) : text;
}

/* The same for all texts of a document, in place. */
export function makeVisible<T>(value: T): T {
  if (typeof value === "string") return visible(value) as T;
  if (Array.isArray(value)) {
    if (typeof value[0] === "number") return value; // a column
    for (let i = 0; i < value.length; i++) value[i] = makeVisible(value[i]);
  } else if (typeof value === "object" && value !== null) {
    const object = value as Record<string, unknown>;
    for (const key of Object.keys(object)) object[key] = makeVisible(object[key]);
  }
  return value;
}
