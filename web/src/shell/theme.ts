/*
 * Light or dark: as the system has it, unless the reader chooses. And colours for what is drawn on
 * a canvas, which cannot use the variables of style/theme.css itself.
 *
 * The choice belongs to the reader and not to what is shown, so the browser keeps it, and it is no
 * part of the address. Where the browser keeps nothing (a file from disk may not), the choice holds
 * until the page is closed.
 */
export type Theme = "auto" | "light" | "dark";
const KEY = "heapscope-theme";
const listeners = new Set<() => void>();
const resolved = new Map<string, string>();

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

function announce(): void {
  resolved.clear();
  for (const listener of listeners) listener();
}

function apply(theme: Theme): void {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

let chosen: Theme = "auto";

/* To be called once, before the page is drawn. */
export function startTheme(): void {
  chosen = stored();
  apply(chosen);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", announce);
  }
}

export function theme(): Theme {
  return chosen;
}

export function setTheme(next: Theme): void {
  chosen = next;
  apply(next);
  try {
    if (next === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    /* It holds until the page is closed. */
  }
  announce();
}

/* Calls it when colours change; returns a function that ends this. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/* A colour of style/theme.css as it is now, for a canvas: colourOf("--series-1"). */
export function colourOf(variable: string): string {
  let colour = resolved.get(variable);
  if (colour === undefined) {
    const probe = document.createElement("span");
    probe.style.color = `var(${variable})`;
    document.body.append(probe);
    colour = getComputedStyle(probe).color;
    probe.remove();
    resolved.set(variable, colour);
  }
  return colour;
}
