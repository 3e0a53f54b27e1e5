/*
 * The whole page: header, navigation, the warnings that touch the current view, and the view.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Profile } from "../data/profile.ts";
import { useAddress } from "../state.ts";
import { VIEWS, type View } from "../views.ts";
import { Boundary } from "./failure.tsx";
import { Footer } from "./footer.tsx";
import { Header } from "./header.tsx";
import { Navigation, type NavigationItem } from "./navigation.tsx";
import "./shell.css";
import { useSelection } from "./use_selection.ts";
import { WarningBar } from "./warning_bar.tsx";

export function SkipLink({ to }: { to: { current: HTMLElement | null } }) {
  /* The fragment of the address is the page's state, so the link moves the focus itself. */
  const skip = (event: Event) => {
    event.preventDefault();
    to.current?.focus();
  };
  return (
    <a class="shell-skip not-printed" href="#main" onClick={skip}>
      Skip to the content
    </a>
  );
}

interface Props {
  profile: Profile;
  /* Of a page that is served: views that need no profile, and a bar below the header. */
  more?: readonly NavigationItem[];
  bar?: ComponentChildren;
}

export function App({ profile, more = [], bar }: Props) {
  const address = useAddress();
  const selection = useSelection(profile);
  const main = useRef<HTMLElement>(null);
  const views = VIEWS.filter((each) => each.isThere?.(profile) ?? true);
  const view: View = views.find((each) => each.id === address.get("view")) ?? views[0];
  const ViewComponent = view.component;
  const wasDrawn = useRef(false);
  useEffect(() => {
    document.title = `${profile.title}: ${view.title} - heapscope`;
    if (wasDrawn.current) window.scrollTo(0, 0);
    wasDrawn.current = true;
  }, [view]);
  return (
    <>
      <SkipLink to={main} />
      <Header profile={profile} />
      {bar}
      <Navigation views={[...views, ...more]} current={view} />
      <main ref={main} tabIndex={-1} aria-label={view.title} class={`shell-main view-${view.id}`}>
        <WarningBar profile={profile} selection={selection} figures={view.figures(selection)} />
        <Boundary key={view.id} what={`The view “${view.title}” failed`}>
          <ViewComponent
            profile={profile}
            selection={selection}
            views={views.map((each) => each.id)}
          />
        </Boundary>
      </main>
      <Footer profile={profile} />
    </>
  );
}
