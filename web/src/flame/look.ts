/*
 * How the flame graph is drawn, as the address says.
 */
import type { Profile } from "../data/profile.ts";
import { COLOUR_MODES, type ColourMode } from "../graph/colours.ts";
import type { Address } from "../state.ts";

export interface Look {
  direction: "down" | "up";
  isFlame: boolean;
  colour: ColourMode;
  isRecursionMerged: boolean;
  isCompared: boolean;
}

/* The snapshots that the selected ones are compared with; empty: nothing is compared. */
export function baseOf(profile: Profile, address: Address): number[] {
  const named = (address.get("flame.base") ?? "")
    .split(",")
    .filter((text) => /^\d+$/.test(text))
    .map(Number);
  return [...new Set(named.filter((index) => index < profile.snapshots.length))];
}

export function lookOf(address: Address): Look {
  const isCompared = (address.get("flame.base") ?? "") !== "";
  const named = COLOUR_MODES.find((mode) => mode === address.get("flame.colour"));
  return {
    direction: address.get("flame.direction") === "up" ? "up" : "down",
    isFlame: address.get("flame.layout") === "flame",
    colour: named ?? (isCompared ? "change" : "module"),
    isRecursionMerged: address.get("flame.recursion") === "merged",
    isCompared,
  };
}
