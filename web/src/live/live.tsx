/*
 * What runs now: the processes of the machine and what is recorded; one process that is watched; or
 * the settings of a new recording. The address says which.
 */
import { navigate, useAddress } from "../state.ts";
import { Internals } from "./internals.tsx";
import "./live.css";
import { ProcessList } from "./machine_list.tsx";
import { RecordForm } from "./record_form.tsx";
import { Recordings } from "./recordings.tsx";
import { useSessions } from "./use_sessions.ts";
import { Watch } from "./watch.tsx";

/* The number in the address, or null. */
function pidOf(text: string | null): number | null {
  return text !== null && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}

function Lists({ views }: { views: readonly string[] }) {
  const sessions = useSessions();
  return (
    <div class="live-lists">
      <Recordings sessions={sessions} views={views} />
      <ProcessList sessions={sessions.value} />
      <Internals />
    </div>
  );
}

function Back() {
  const back = () => navigate({ "live.pid": null, "live.record": null });
  return (
    <p class="live-back">
      <button type="button" onClick={back}>
        <span aria-hidden="true">← </span>All processes
      </button>
    </p>
  );
}

export function Live({ views }: { views: readonly string[] }) {
  const address = useAddress();
  const pid = pidOf(address.get("live.pid"));
  const record = address.get("live.record");
  if (pid !== null) {
    return (
      <>
        <Back />
        <Watch key={pid} pid={pid} views={views} />
      </>
    );
  }
  if (record !== null) {
    return (
      <>
        <Back />
        <RecordForm key={record} pid={pidOf(record)} />
      </>
    );
  }
  return <Lists views={views} />;
}
