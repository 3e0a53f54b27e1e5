/*
 * A table of rows, and beside it what is known of the chosen one: facts, links, and of a stack all
 * of its functions.
 */
import type { ComponentChildren } from "preact";

import { NameText } from "./name_text.tsx";
import "./row_panel.css";

export interface RowFact {
  title: string;
  text: string;
}

interface Props {
  title: string;
  name: string;
  module: string;
  facts: readonly RowFact[];
  /* Of a stack: all functions, the innermost first. */
  stack: readonly string[];
  /* The address of the row in another view; null: there is none. */
  href: string | null;
  onClose: () => void;
}

export function RowPanel({ title, name, module, facts, stack, href, onClose }: Props) {
  return (
    <aside class="row-panel" aria-label={title}>
      <div class="row-panel-head">
        <h3>{title}</h3>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <p class="row-panel-name">
        <NameText text={name} most={2000} />
        {module && (
          <small class="muted">
            <NameText text={module} most={200} />
          </small>
        )}
      </p>
      <dl>
        {facts.map((fact) => (
          <div key={fact.title}>
            <dt>{fact.title}</dt>
            <dd>{fact.text}</dd>
          </div>
        ))}
      </dl>
      {href !== null && (
        <p>
          <a href={href}>Show in the flame graph</a>
        </p>
      )}
      {stack.length > 0 && (
        <>
          <h4>From the function that allocated to the first caller</h4>
          <ol>
            {stack.map((name, i) => (
              <li key={i}>
                <NameText text={name} most={300} />
              </li>
            ))}
          </ol>
        </>
      )}
    </aside>
  );
}

/* The table and the panel, which stands below it where there is no room beside it. */
export function WithPanel({ children }: { children: ComponentChildren }) {
  return <div class="row-panel-view">{children}</div>;
}
