/*
 * Choices that a phone has no room for: there they are behind one line, which says what is chosen.
 */
import type { ComponentChildren } from "preact";

import "./controls.css";
import { useNarrow } from "./use_narrow.ts";

interface Props {
  words: string;
  children: ComponentChildren;
}

export function Folded({ words, children }: Props) {
  if (!useNarrow()) return <>{children}</>;
  return (
    <details class="controls-folded">
      <summary>
        <bdi>{words}</bdi>
      </summary>
      {children}
    </details>
  );
}
