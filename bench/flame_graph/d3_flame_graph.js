/* d3-flame-graph: an SVG element for each box. */
import flamegraph from "d3-flame-graph";
import * as d3 from "d3-flame-graph";
import { select } from "d3-selection";
import { makeTree, nested } from "./tree.js";

const make = typeof flamegraph === "function" ? flamegraph : d3.flamegraph;

/* leastPx: boxes that are narrower are left out. */
window.prepare = (count, leastPx) => ({ root: nested(makeTree(count)), leastPx });

window.first = ({ root, leastPx }, place) => {
  const chart = make().width(1280).cellHeight(18).transitionDuration(0).minFrameSize(leastPx);
  chart.inverted(true).sort(true);
  select(place).datum(root).call(chart);
  return chart;
};

window.zoom = (chart, place) => {
  let largest = null;
  select(place)
    .selectAll("g.frame")
    .each((each) => {
      if (each.depth === 3 && (!largest || each.value > largest.value)) largest = each;
    });
  chart.zoomTo(largest);
};
