/*
 * How the boxes of a layout look: their colours, texts, and which a search found. It is what the
 * canvas draws and what is saved as SVG.
 */
import type { Colouring } from "./colours.ts";
import { mergedName } from "./info.ts";
import { cutToFit, fitting, formsOf, type Measure } from "./labels.ts";
import type { Box, Layout } from "./layout.ts";
import { share, signed } from "../format.ts";
import type { GraphModel } from "./model.ts";
import type { Picture } from "./paint.ts";
import type { Found } from "./search.ts";

export interface PictureInput {
  model: GraphModel;
  layout: Layout;
  isFlame: boolean;
  /* null: the data do not have what the boxes are to be coloured by */
  colouring: Colouring | null;
  found: Found | null;
  title: string;
}

const PLAIN = "--tint-8";

function labelOf(model: GraphModel, colouring: Colouring | null, title: string): Picture["label"] {
  const forms = new Map<number, string[]>();
  const { format } = model.spec.selection.measure;
  return (box: Box, width: number, measure: Measure) => {
    if (box.mergedCount > 0) return mergedName(box);
    const { node } = box;
    if (!node) {
      const text = `${title}: ${format(model.total)}`;
      return measure(text) <= width ? text : cutToFit(text, width, measure);
    }
    const index = model.functionOf(node);
    let known = forms.get(index);
    if (!known) forms.set(index, (known = formsOf(model.profile, index)));
    const sign = colouring?.sign(node) ?? "";
    const name = fitting(known, sign === "" ? width : width - measure(sign), measure);
    return name === "" ? "" : sign + name;
  };
}

/* A box that has nearly all of its caller has the caller's figure, which stands there. */
const SAME_SHARE = 0.995;

function figureOf(model: GraphModel): Picture["figure"] {
  const { format } = model.spec.selection.measure;
  const whole = model.tree.total;
  return ({ node }) => {
    if (!node || (node.parent && node.total >= SAME_SHARE * node.parent.total)) return "";
    const change = model.change(node);
    if (change) return signed(change.delta, format);
    return `${format(node.total)}, ${share(node.total, whole)}`;
  };
}

export function makePicture(input: PictureInput): Picture {
  const { model, layout, isFlame, colouring, found, title } = input;
  const matches = found && model.matchingBoxes(found.matches);
  const isFound = matches && ((box: Box) => box.node !== null && matches[box.node.key] === 1);
  return {
    layout,
    isFlame,
    colour: (box) => (box.node && colouring ? colouring.of(box.node) : PLAIN),
    label: labelOf(model, colouring, title),
    figure: figureOf(model),
    isFound,
    focused: null,
    hovered: null,
  };
}
