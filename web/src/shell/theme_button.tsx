/*
 * Chooses between the system's colours, light and dark.
 */
import { useState } from "preact/hooks";

import { setTheme, theme, type Theme } from "./theme.ts";

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const TEXT: Record<Theme, string> = { auto: "Auto", light: "Light", dark: "Dark" };
const SIGN: Record<Theme, string> = { auto: "◐", light: "☀", dark: "☾" };

export function ThemeButton() {
  const [current, setCurrent] = useState(theme());
  const change = () => {
    setTheme(NEXT[current]);
    setCurrent(NEXT[current]);
  };
  return (
    <button
      type="button"
      class="shell-theme not-printed"
      onClick={change}
      title={`Colours: ${TEXT[current]}. Change to ${TEXT[NEXT[current]]}`}
    >
      <span aria-hidden="true">{SIGN[current]}</span> <span class="hidden-but-read">Colours: </span>
      {TEXT[current]}
    </button>
  );
}
