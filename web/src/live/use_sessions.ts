/*
 * The list of recordings, asked for every few seconds.
 */
import { getJson } from "../data/server.ts";
import type { Sessions } from "./answers.ts";
import { usePoll, type Polled } from "./use_poll.ts";

const PAUSE_MS = 2500;

export function useSessions(): Polled<Sessions> {
  return usePoll(() => getJson<Sessions>("api/sessions"), PAUSE_MS);
}
