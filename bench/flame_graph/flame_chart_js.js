/* flame-chart-js: a canvas. It shows times; the value of a box is its duration. */
import * as module from "flame-chart-js";
import { makeTree, nested, zoomTarget } from "./tree.js";

const FlameChart = module.FlameChart ?? module.default.FlameChart ?? module.default;

function timed(node, start) {
  let at = start;
  const children = [];
  for (const child of node.children) {
    children.push(timed(child, at));
    at += child.value;
  }
  const result = { name: node.name, start, duration: node.value, type: "function", children };
  node.timed = result;
  return result;
}

window.prepare = (count) => {
  const root = nested(makeTree(count));
  return { data: [timed(root, 0)], target: zoomTarget(root).timed };
};

window.first = ({ data, target }, place) => {
  const canvas = document.createElement("canvas");
  canvas.width = 1280;
  canvas.height = 700;
  place.append(canvas);
  return { chart: new FlameChart({ canvas, data }), target };
};

window.zoom = ({ chart, target }) => chart.setZoom(target.start, target.start + target.duration);
