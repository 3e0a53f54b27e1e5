/*
 * An error of the server as sentences: what happened, and what to do.
 */
import type { ComponentChildren } from "preact";

import { ServerError, sentence } from "../data/server.ts";

interface Props {
  error: unknown;
  /* What can be done here, such as a button. */
  children?: ComponentChildren;
}

export function Trouble({ error, children }: Props) {
  const what = error instanceof Error ? error.message : String(error);
  const next = error instanceof ServerError ? error.next : "";
  return (
    <div class="shell-failure" role="alert">
      <p>
        <bdi>{sentence(what)}</bdi>
      </p>
      {next && (
        <p>
          <bdi>{next}</bdi>
        </p>
      )}
      {children}
    </div>
  );
}
