/*
 * Starts the page: reads the profile and draws it, or says why it cannot.
 */
import { render } from "preact";

import { openProfile } from "./data/profile.ts";
import { embeddedSource, servedSource } from "./data/source.ts";
import { App } from "./shell/app.tsx";
import { Failure } from "./shell/failure.tsx";
import { startTheme } from "./shell/theme.ts";
import "./style/theme.css";
import "./style/base.css";

function sourceOfPage() {
  const embedded = embeddedSource();
  if (embedded) return embedded;
  return location.protocol.startsWith("http") ? servedSource(0) : null;
}

async function start(root: HTMLElement): Promise<void> {
  startTheme();
  try {
    const source = sourceOfPage();
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
