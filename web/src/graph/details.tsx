/*
 * Below the graph: what is known of the focused box, and what can be done with it.
 */
import type { TreeNode } from "../data/call_tree.ts";
import { functionName } from "../data/names.ts";
import { exactPattern, type FilterKind } from "../data/select_filters.ts";
import { addFilter } from "../controls/filter_bar.tsx";
import { cut } from "../format.ts";
import { linkTo } from "../state.ts";
import type { Info } from "./info.ts";
import { stackText } from "./info.ts";
import type { Box } from "./layout.ts";
import type { GraphModel } from "./model.ts";

const FILTERS: readonly [FilterKind, string][] = [
  ["from-frame", "Show from this frame"],
  ["pivot", "Pivot"],
  ["show-stack", "Only its stacks"],
  ["hide-stack", "Hide its stacks"],
  ["hide-frame", "Merge into callers"],
];

/* Copies text also where the browser has no clipboard for this page. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

export function copyStack(model: GraphModel, node: TreeNode, say: (text: string) => void): void {
  void copy(stackText(model, node, true)).then((isDone) =>
    say(isDone ? "The stack was copied." : "The browser did not allow to copy the stack."),
  );
}

export function Facts({ info }: { info: Info }) {
  return (
    <>
      <bdi class="name graph-name">{cut(info.name, 2000)}</bdi>
      <dl class="graph-facts">
        {info.facts.map(({ title, text }) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>
              <bdi>{cut(text, 500)}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

interface Props {
  model: GraphModel;
  box: Box | null;
  info: Info | null;
  zoomed: TreeNode | null;
  views: readonly string[];
  onZoom: (node: TreeNode | null) => void;
  say: (text: string) => void;
}

function Actions({ model, box, zoomed, views, onZoom, say }: Props & { box: Box }) {
  const { node } = box;
  if (!node) return null;
  const name = functionName(model.profile, model.functionOf(node));
  return (
    <div class="graph-actions not-printed" role="group" aria-label="With this frame">
      <button type="button" onClick={() => onZoom(node === zoomed ? node.parent : node)}>
        {node === zoomed ? "Zoom out" : "Zoom in"}
      </button>
      {FILTERS.map(([kind, text]) => (
        <button key={kind} type="button" onClick={() => addFilter(kind, exactPattern(name))}>
          {text}
        </button>
      ))}
      <button type="button" onClick={() => copyStack(model, node, say)}>
        Copy stack
      </button>
      {views.includes("table") && (
        <a href={linkTo({ view: "table", "table.search": name })}>In the table</a>
      )}
    </div>
  );
}

export function Details(props: Props) {
  const { box, info } = props;
  return (
    <section class="graph-details" aria-label="The focused frame">
      {box && info ? (
        <>
          <Facts info={info} />
          <Actions {...props} box={box} />
        </>
      ) : (
        <p class="muted">
          Point at a frame to see its figures; click it to zoom. With the keyboard: arrows move,
          Enter zooms in, Escape zooms out, / searches, c copies the stack.
        </p>
      )}
    </section>
  );
}
