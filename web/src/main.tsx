/*
 * Starts the page: reads the profile and draws it, or says why it cannot. Behind a page that
 * `heapscope ui` serves is its server, which has the profiles.
 */
import { render } from "preact";

import { openProfile } from "./data/profile.ts";
import { readRowsIn } from "./data/rows_reader.ts";
import RowsWorker from "./data/rows_worker.ts?worker&inline";
import { embeddedSource } from "./data/source.ts";
import { LIVE } from "./live/view.ts";
import { App } from "./shell/app.tsx";
import { Failure } from "./shell/failure.tsx";
import { Served } from "./shell/served.tsx";
import { startTheme } from "./shell/theme.ts";
import "./style/theme.css";
import "./style/base.css";

async function start(root: HTMLElement): Promise<void> {
  startTheme();
  readRowsIn(() => new RowsWorker());
  const source = embeddedSource();
  if (!source && location.protocol.startsWith("http")) {
    render(<Served live={LIVE} />, root);
    return;
  }
  try {
    if (!source) throw new Error("there is no profile in this page");
    const profile = await openProfile(source);
    document.title = `${profile.title} - heapscope`;
    render(<App profile={profile} />, root);
  } catch (error) {
    render(<Failure what="The page cannot show the profile" error={error} />, root);
  }
}

const root = document.getElementById("page");
if (root) {
  root.textContent = "";
  void start(root);
}
