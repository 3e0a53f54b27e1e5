/*
 * The page that `heapscope ui` serves: the views of a file of the server, and the view of what runs
 * now, which needs no file.
 */
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { openProfile, type Profile } from "../data/profile.ts";
import { fileKey } from "../data/served_files.ts";
import type { ServedFile } from "../data/server.ts";
import { servedSource } from "../data/source.ts";
import { useAddress } from "../state.ts";
import { VIEWS } from "../views.ts";
import { App, SkipLink } from "./app.tsx";
import { Boundary } from "./failure.tsx";
import { FileBar } from "./file_bar.tsx";
import { Navigation, type NavigationItem } from "./navigation.tsx";
import "./shell.css";
import { ThemeButton } from "./theme_button.tsx";
import { Trouble } from "./trouble.tsx";
import { useFiles } from "./use_files.ts";
import { usePromise } from "./use_promise.ts";

/* The view of what runs now; `views` are the ids of those that a file has. */
export interface LiveView extends NavigationItem {
  component: ComponentType<{ views: readonly string[] }>;
}

/* Without a profile: what is recorded now. */
function LivePage({ live, profile }: { live: LiveView; profile: Profile | null }) {
  const main = useRef<HTMLElement>(null);
  const Live = live.component;
  const views = VIEWS.filter((view) => profile && (view.isThere?.(profile) ?? true));
  useEffect(() => {
    document.title = `${live.title} - heapscope`;
  }, []);
  return (
    <>
      <SkipLink to={main} />
      <header class="shell-header">
        <div class="shell-title">
          <p class="shell-product">heapscope</p>
          <h1>What runs on this computer</h1>
        </div>
        <p class="shell-facts muted">Record a process, and watch its memory.</p>
        <ThemeButton />
      </header>
      <Navigation views={[...views, live]} current={live} />
      <main ref={main} tabIndex={-1} aria-label={live.title} class="shell-main view-live">
        <Boundary what="The view “Live” failed">
          <Live views={VIEWS.map((view) => view.id)} />
        </Boundary>
      </main>
    </>
  );
}

interface FailedProps {
  error: unknown;
  live: LiveView;
  bar: ComponentChildren;
}

function FailedFile({ error, live, bar }: FailedProps) {
  return (
    <>
      <header class="shell-header">
        <div class="shell-title">
          <p class="shell-product">heapscope</p>
          <h1>This file cannot be shown</h1>
        </div>
        <span />
        <ThemeButton />
      </header>
      {bar}
      <Navigation views={[live]} current={null} />
      <main class="shell-main">
        <Trouble error={error} />
      </main>
    </>
  );
}

function Page({ files, live }: { files: readonly ServedFile[]; live: LiveView }) {
  const address = useAddress();
  const key = fileKey(address.get("file"), files);
  const { value, error, isPending } = usePromise(
    async () => (key === null ? null : { key, profile: await openProfile(servedSource(key)) }),
    [key],
  );
  const isLive = key === null || address.get("view") === live.id;
  const profile = value?.key === key ? value.profile : null;
  if (isLive) return <LivePage live={live} profile={profile} />;
  const bar = <FileBar files={files} current={key} />;
  if (error !== null && !isPending) return <FailedFile error={error} live={live} bar={bar} />;
  if (!profile) return <p class="loading">Reading the profile…</p>;
  return <App key={key} profile={profile} more={[live]} bar={bar} />;
}

export function Served({ live }: { live: LiveView }) {
  const { files, error } = useFiles();
  if (error !== null) return <Trouble error={error} />;
  if (!files) return <p class="loading">Asking for the files…</p>;
  return <Page files={files.files} live={live} />;
}
