/* ECharts: a custom series on a canvas, as in its own example of a flame graph. */
import * as echarts from "echarts";
import { makeTree, nested, zoomTarget } from "./tree.js";

const ROW = 18;

function boxes(root) {
  const list = [];
  const add = (node, depth, start) => {
    list.push([depth, start, start + node.value, node.name]);
    let at = start;
    for (const child of node.children) {
      add(child, depth + 1, at);
      at += child.value;
    }
  };
  add(root, 0, 0);
  return list;
}

function option(root) {
  return {
    animation: false,
    xAxis: { show: false, max: root.value },
    yAxis: { show: false, inverse: true, max: 60 },
    grid: { left: 0, right: 0, top: 0, bottom: 0 },
    series: {
      type: "custom",
      progressive: 0,
      encode: { x: [1, 2], y: 0 },
      data: boxes(root),
      renderItem: (_, api) => {
        const [x, y] = api.coord([api.value(1), api.value(0)]);
        const width = api.size([api.value(2) - api.value(1), 0])[0];
        return {
          type: "rect",
          shape: { x, y, width, height: ROW - 1 },
          style: { fill: "#f8c9a6" },
          textConfig: { position: "insideLeft" },
          textContent: {
            style: { text: width > 24 ? api.value(3) : "", width, overflow: "truncate" },
          },
        };
      },
    },
  };
}

window.prepare = (count) => nested(makeTree(count));

window.first = (root, place) => {
  place.style.width = "1280px";
  place.style.height = "700px";
  const chart = echarts.init(place);
  chart.setOption(option(root));
  return { chart, root };
};

window.zoom = ({ chart, root }) => chart.setOption(option(zoomTarget(root)));
