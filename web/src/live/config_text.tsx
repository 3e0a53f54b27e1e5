/*
 * The settings as a TraceConfig and as a command, as the server writes them; or what is wrong with
 * them.
 */
import { useEffect, useState } from "preact/hooks";

import { getJson } from "../data/server.ts";
import { saveText } from "../download.ts";
import { Trouble } from "../shell/trouble.tsx";
import { queryOf, type settingsOf } from "./settings.ts";

/* While the user types, the server is asked after a pause. */
const PAUSE_MS = 250;

interface Config {
  config: string;
  command: string;
}

function useConfig(query: string): { value: Config | null; error: unknown } {
  const [state, setState] = useState<{ value: Config | null; error: unknown }>({
    value: null,
    error: null,
  });
  useEffect(() => {
    const stopped = new AbortController();
    const timer = setTimeout(() => {
      getJson<Config>(`api/config?${query}`, stopped.signal).then(
        (value) => setState({ value, error: null }),
        (error: unknown) => {
          if (!stopped.signal.aborted) setState((before) => ({ ...before, error }));
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [query]);
  return state;
}

export function ConfigText({ settings }: { settings: ReturnType<typeof settingsOf> }) {
  const { value, error } = useConfig(queryOf(settings));
  return (
    <aside class="live-config" aria-label="The settings as text">
      {error !== null && <Trouble error={error} />}
      {value && (
        <>
          <h3>As a command</h3>
          <pre tabIndex={0} aria-label="Command">
            {value.command}
          </pre>
          <div class="live-card-head">
            <h3>As a TraceConfig</h3>
            <button
              type="button"
              onClick={() => saveText("heapscope.pbtx", "text/plain", value.config)}
            >
              Save
            </button>
          </div>
          <pre tabIndex={0} aria-label="TraceConfig">
            {value.config}
          </pre>
          <p class="muted">For “heapscope record -c”, and for Perfetto’s tools.</p>
        </>
      )}
    </aside>
  );
}
