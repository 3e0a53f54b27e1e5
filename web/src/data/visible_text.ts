/*
 * Names as text that a reader can see whole: control characters as symbols, and without characters
 * that change the direction of the text around them.
 */
function isReordering(code: number): boolean {
  return (
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069) ||
    code === 0x200e ||
    code === 0x200f ||
    code === 0x061c
  );
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "␡";
  return (code >= 0x80 && code < 0xa0) || isReordering(code) ? "�" : character;
}

export function visibleText(text: string): string {
  return text.replace(/[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, visible);
}
