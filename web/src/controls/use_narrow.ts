/*
 * Whether the window is as narrow as a phone's.
 */
import { useMedia } from "./use_media.ts";

const NARROW = "(max-width: 600px)";

export function useNarrow(): boolean {
  return useMedia(NARROW);
}
