/*
 * One stack, from the function that allocated to the outermost one, with source lines.
 */
import { NameText } from "../controls/name_text.tsx";
import { functionName, functionOfNode, shortName, sourceLine, stackOf } from "../data/names.ts";
import type { Profile } from "../data/profile.ts";
import { linkTo } from "../state.ts";
import { functionAddress } from "./function_address.ts";

function stackText(profile: Profile, node: number): string {
  return stackOf(profile, node)
    .map((at) => functionName(profile, functionOfNode(profile, at)))
    .join("\n");
}

export function StackPanel({ profile, node }: { profile: Profile; node: number }) {
  return (
    <aside class="table-panel" aria-label="Stack">
      <div class="table-panel-head">
        <h2>Stack</h2>
        <button
          type="button"
          onClick={() => void navigator.clipboard?.writeText(stackText(profile, node))}
        >
          Copy
        </button>
        <a href={linkTo({ "table.stack": null })}>Close</a>
      </div>
      <ol class="table-stack">
        {stackOf(profile, node).map((at) => {
          const index = functionOfNode(profile, at);
          const source = sourceLine(profile, profile.tree.frame[at]);
          return (
            <li key={at}>
              <a href={linkTo(functionAddress(profile, index))}>
                <NameText
                  text={shortName(profile, index)}
                  whole={functionName(profile, index)}
                  most={110}
                />
              </a>
              {source && (
                <small class="muted">
                  <NameText text={source} most={110} />
                </small>
              )}
            </li>
          );
        })}
      </ol>
    </aside>
  );
}
