/*
 * The address of a function's panel: its whole name and the path of its module or script, which
 * stay the same when the profile is read again.
 */
import { functionName } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import type { Address, Changes } from "../state.ts";

function placeOf(profile: Profile, index: number): string {
  const { file, module } = profile.functions;
  if (file[index] > 0) return profile.strings[file[index]];
  return module[index] < 0 ? "" : profile.strings[profile.modules.path[module[index]]];
}

export function functionAddress(profile: Profile, index: number): Changes {
  return {
    view: "table",
    "table.kind": null,
    "table.function": functionName(profile, index),
    "table.in": placeOf(profile, index) || null,
    "table.stack": null,
  };
}

/* The function that the address names; null: none, or the profile does not have it. */
export function functionOf(profile: Profile, address: Address): number | null {
  const name = address.get("table.function");
  if (name === null) return null;
  const place = address.get("table.in") ?? "";
  let found: number | null = null;
  for (let i = 0; i < profile.functions.count; i++) {
    if (functionName(profile, i) !== name) continue;
    if (placeOf(profile, i) === place) return i;
    found ??= i;
  }
  return found;
}
