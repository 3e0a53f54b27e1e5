/*
 * The way from the box of everything to the zoomed one; each step can be gone back to.
 */
import { pathOf, type TreeNode } from "../data/call_tree.ts";
import { functionName, shortName } from "../data/names.ts";
import { cut } from "../format.ts";
import type { GraphModel } from "./model.ts";

interface Props {
  model: GraphModel;
  zoomed: TreeNode | null;
  title: string;
  onZoom: (node: TreeNode | null) => void;
}

/* So many steps next to the zoomed box are named. */
const NAMED = 4;

export function Path({ model, zoomed, title, onZoom }: Props) {
  if (!zoomed) return null;
  const path = pathOf(zoomed);
  const shown = path.slice(-NAMED);
  const name = (node: TreeNode) => {
    const index = model.functionOf(node);
    return (
      <bdi class="name" title={cut(functionName(model.profile, index), 2000)}>
        {cut(shortName(model.profile, index), 40)}
      </bdi>
    );
  };
  return (
    <nav class="graph-path" aria-label="Zoomed to">
      <button type="button" onClick={() => onZoom(null)}>
        {title}
      </button>
      {path.length > NAMED && <span class="muted">› … {path.length - NAMED} frames …</span>}
      {shown.map((node) => (
        <span key={node.depth} class="graph-step">
          <span class="muted" aria-hidden="true">
            ›
          </span>
          {node === zoomed ? (
            <b>{name(node)}</b>
          ) : (
            <button type="button" onClick={() => onZoom(node)}>
              {name(node)}
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}
