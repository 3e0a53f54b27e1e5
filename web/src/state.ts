/*
 * The state of the page is its address: all that a reader chose stands in the fragment
 * ("#view=flame&snapshot=3"), so that every view can be linked to, and Back, Forward and a reload
 * restore it.
 *
 * Keys that several views share have plain names (view, snapshot, measure, heap); a key of one view
 * begins with its name ("flame.zoom"). A key may occur several times (filters). A default value is
 * not written into the address.
 *
 * Ensures   an address that cannot be read is an empty one: each key has its default.
 */
import { useEffect, useState } from "preact/hooks";

/* What changes: null removes a key, a list writes it once for each value. */
export type Changes = Record<string, string | number | null | readonly string[]>;

export interface Address {
  /* The first value of a key, or null. */
  get(key: string): string | null;
  all(key: string): readonly string[];
  /* The fragment, with "#". */
  text: string;
}

export function parseAddress(fragment: string): Address {
  const params = new URLSearchParams(fragment.replace(/^#/, ""));
  return { get: (key) => params.get(key), all: (key) => params.getAll(key), text: fragment };
}

/* The address after these changes. Keys keep their places: equal states have equal addresses. */
export function changedAddress(address: Address, changes: Changes): Address {
  const params = new URLSearchParams(address.text.replace(/^#/, ""));
  for (const [key, value] of Object.entries(changes)) {
    const values = value === null ? [] : Array.isArray(value) ? value : [String(value)];
    if (values.length === 1) {
      params.set(key, values[0]);
      continue;
    }
    params.delete(key);
    for (const each of values) params.append(key, each);
  }
  const text = params.toString();
  return parseAddress(text ? `#${text}` : "");
}

let current = parseAddress(globalThis.location?.hash ?? "");
const listeners = new Set<() => void>();

function readLocation(): void {
  if (location.hash === current.text) return;
  current = parseAddress(location.hash);
  for (const listener of listeners) listener();
}

if (globalThis.window) {
  window.addEventListener("hashchange", readLocation);
  window.addEventListener("popstate", readLocation);
}

export function currentAddress(): Address {
  return current;
}

/*
 * Changes the address. "push" makes a new entry of the history: Back undoes the change. "replace"
 * is for what changes all the time, such as the text of a search while it is typed.
 */
export function navigate(changes: Changes, how: "push" | "replace" = "push"): void {
  const next = changedAddress(current, changes);
  if (next.text === current.text) return;
  const url = next.text || location.pathname + location.search;
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  current = parseAddress(location.hash);
  for (const listener of listeners) listener();
}

/* The href of a link that makes these changes. */
export function linkTo(changes: Changes): string {
  return changedAddress(current, changes).text || "#";
}

/* The address; the component is drawn again when it changes. */
export function useAddress(): Address {
  const [address, setAddress] = useState(current);
  useEffect(() => {
    const listener = () => setAddress(current);
    listeners.add(listener);
    listener(); // it may have changed since the component was drawn
    return () => void listeners.delete(listener);
  }, []);
  return address;
}

/* One key as a value with a default, and its setter. */
export function useParam(
  key: string,
  fallback: string,
): [string, (value: string, how?: "push" | "replace") => void] {
  const value = useAddress().get(key) ?? fallback;
  return [value, (next, how) => navigate({ [key]: next === fallback ? null : next }, how)];
}
