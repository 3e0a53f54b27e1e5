/*
 * Links to the views. Each view has an address, so they are links and no tabs: they open in another
 * window, too.
 */
import { useEffect, useRef } from "preact/hooks";

import { linkTo, navigate, useAddress } from "../state.ts";

/* A click without keys that ask for another window or a download. */
export function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
}

/* What a link needs of a view. */
export interface NavigationItem {
  id: string;
  title: string;
}

interface Props {
  views: readonly NavigationItem[];
  current: NavigationItem | null;
}

export function Navigation({ views, current }: Props) {
  useAddress(); // the links keep what else the address says
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current
      ?.querySelector("[aria-current]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  const isAlone = views.length === 1;
  const changesFor = (view: NavigationItem) => ({
    view: view === views[0] && !isAlone ? null : view.id,
  });
  return (
    <nav class="shell-navigation not-printed" aria-label="Views">
      <ul ref={list}>
        {views.map((view) => (
          <li key={view.id}>
            <a
              href={linkTo(changesFor(view))}
              data-title={view.title}
              aria-current={view === current ? "page" : undefined}
              onClick={(event) => {
                if (!isPlainClick(event)) return;
                event.preventDefault();
                navigate(changesFor(view));
              }}
            >
              {view.title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
