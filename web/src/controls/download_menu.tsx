/*
 * A menu of the formats in which a view can be saved. It is a details element: keyboard and screen
 * readers know how to use it.
 */
import { useEffect, useRef } from "preact/hooks";

import "./controls.css";

export interface Download {
  text: string;
  save: () => void | Promise<void>;
}

export function DownloadMenu({ downloads }: { downloads: readonly Download[] }) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && menu.current?.contains(event.target);
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (menu.current?.open && (isEscape || (event.type === "pointerdown" && !isInside))) {
        menu.current.open = false;
      }
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details class="controls-menu not-printed" ref={menu}>
      <summary>Save as</summary>
      <div class="controls-menu-list">
        {downloads.map((download) => (
          <button
            key={download.text}
            type="button"
            onClick={() => {
              if (menu.current) menu.current.open = false;
              void download.save();
            }}
          >
            {download.text}
          </button>
        ))}
      </div>
    </details>
  );
}
