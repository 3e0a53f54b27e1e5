/*
 * A list of parts of a whole, each with its name, its value, its share and a bar, which is as long
 * as its share: the whole is the whole width.
 *
 * The bars are a picture of the shares that stand beside them in text, so they are hidden from
 * screen readers.
 */
import type { ComponentChildren } from "preact";

import { share } from "../format.ts";
import "./controls.css";

export interface Bar {
  key: string;
  name: ComponentChildren;
  /* Below the name, in smaller text. */
  detail?: ComponentChildren;
  value: number;
  colour?: string;
}

interface Props {
  bars: readonly Bar[];
  whole: number;
  format: (value: number) => string;
}

export function BarList({ bars, whole, format }: Props) {
  return (
    <ol class="controls-bars">
      {bars.map((bar) => (
        <li key={bar.key}>
          <div class="controls-bar-words">
            <span class="controls-bar-name">{bar.name}</span>
            <span class="number">
              <b>{share(bar.value, whole)}</b> <span class="muted">{format(bar.value)}</span>
            </span>
          </div>
          <div class="controls-bar-track" aria-hidden="true">
            <div
              style={{
                width: `${whole > 0 ? Math.max(0.3, (100 * bar.value) / whole) : 0}%`,
                background: bar.colour ?? "var(--series-1)",
              }}
            />
          </div>
          {bar.detail && <div class="controls-bar-detail muted">{bar.detail}</div>}
        </li>
      ))}
    </ol>
  );
}
