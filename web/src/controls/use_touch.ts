/*
 * Whether the reader points with a finger: help then speaks of no mouse and no keys.
 */
import { useMedia } from "./use_media.ts";

const FINGER = "(pointer: coarse)";

export function useTouch(): boolean {
  return useMedia(FINGER);
}
