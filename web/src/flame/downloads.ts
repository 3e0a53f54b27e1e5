/*
 * The formats in which the flame graph can be saved.
 */
import type { Download } from "../controls/download_menu.tsx";
import type { TreeNode } from "../data/call_tree.ts";
import { fileName, saveCanvas, saveText } from "../download.ts";
import { canvasOf, foldedOf, svgOf } from "../graph/export.ts";
import type { GraphModel } from "../graph/model.ts";
import type { Picture } from "../graph/paint.ts";

export function downloadsOf(
  model: GraphModel,
  zoomed: TreeNode | null,
  picture: { current: Picture | null },
): Download[] {
  const { measure } = model.spec.selection;
  const name = fileName(model.profile.title, "flame", measure.name);
  const title = `${model.profile.title}: ${measure.title}`;
  const withPicture = (save: (drawn: Picture) => void) => () => {
    if (picture.current) save(picture.current);
  };
  return [
    {
      text: "SVG picture",
      save: withPicture((drawn) => saveText(`${name}.svg`, "image/svg+xml", svgOf(drawn, title))),
    },
    { text: "PNG picture", save: withPicture((drawn) => saveCanvas(name, canvasOf(drawn))) },
    {
      text: "Folded stacks",
      save: () => saveText(`${name}.folded`, "text/plain", foldedOf(model, zoomed)),
    },
  ];
}
