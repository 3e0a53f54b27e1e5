/*
 * The same as the graph in words, for readers who do not see it: the frames directly behind the
 * zoomed one, each of which can be zoomed to.
 */
import type { TreeNode } from "../data/call_tree.ts";
import { functionName } from "../data/names.ts";
import { cut, plural, share } from "../format.ts";
import type { GraphModel } from "./model.ts";

const LISTED = 100;

interface ListProps {
  model: GraphModel;
  zoomed: TreeNode | null;
  onZoom: (node: TreeNode | null) => void;
}

export function FrameList({ model, zoomed, onZoom }: ListProps) {
  const { tree, profile } = model;
  const { format } = model.spec.selection.measure;
  const children = zoomed ? tree.childrenOf(zoomed) : tree.roots;
  const shown = children.slice(0, LISTED);
  const rest = children.slice(LISTED);
  const restTotal = rest.reduce((sum, node) => sum + node.total, 0);
  const nameOf = (node: TreeNode) => cut(functionName(profile, model.functionOf(node)), 300);
  return (
    <details class="graph-list">
      <summary>As a list</summary>
      <p>
        {zoomed ? (
          <>
            Directly behind <bdi class="name">{nameOf(zoomed)}</bdi>, which has{" "}
            {format(zoomed.total)}:{" "}
            <button type="button" class="controls-plain" onClick={() => onZoom(zoomed.parent)}>
              one frame out
            </button>
          </>
        ) : (
          <>The outermost frames of {format(tree.total)}:</>
        )}
      </p>
      <ol>
        {shown.map((node) => (
          <li key={node.key}>
            <button type="button" class="controls-plain" onClick={() => onZoom(node)}>
              <bdi class="name">{nameOf(node)}</bdi>
            </button>{" "}
            <span class="number">
              {format(node.total)}, {share(node.total, tree.total)}
            </span>
          </li>
        ))}
      </ol>
      {rest.length > 0 && (
        <p>
          {plural(rest.length, "smaller frame")}, {format(restTotal)}
        </p>
      )}
      {children.length === 0 && <p>There is none: all of it is its own.</p>}
    </details>
  );
}
