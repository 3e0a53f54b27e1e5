/*
 * A call tree of a given number of nodes, always the same one. Values fall off as in a heap
 * profile: a few stacks hold most of the memory, and most hold little.
 */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const DEPTH_MAX = 60;

/* Columns, parents before children: parent (-1: outermost), function, what each holds itself. */
export function makeTree(count) {
  const next = random(1);
  const parent = new Int32Array(count).fill(-1);
  const func = new Int32Array(count);
  const depth = new Int32Array(count);
  const self = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    if (i > 0) {
      /* Often the newest nodes, so that stacks become deep. */
      do {
        parent[i] =
          next() < 0.7 ? Math.max(0, i - 1 - Math.floor(next() * 30)) : Math.floor(next() * i);
      } while (depth[parent[i]] >= DEPTH_MAX);
      depth[i] = depth[parent[i]] + 1;
    }
    func[i] = Math.floor(next() * 5000);
    self[i] = Math.round(64 / (next() + 0.0005));
  }
  return { count, parent, func, self };
}

/* The same as nested objects: { name, value, children }. */
export function nested({ count, parent, func, self }) {
  const nodes = Array.from({ length: count }, (_, i) => ({
    name: `namespace::function_${func[i]}(int, char const*)`,
    value: self[i],
    children: [],
  }));
  for (let i = count - 1; i >= 0; i--) {
    if (parent[i] < 0) continue;
    nodes[parent[i]].value += nodes[i].value;
    nodes[parent[i]].children.push(nodes[i]);
  }
  return nodes[0];
}

/* The child that is zoomed to: three levels in, the largest one each time. */
export function zoomTarget(root) {
  let at = root;
  for (let i = 0; i < 3 && at.children.length > 0; i++) {
    at = at.children.reduce((a, b) => (b.value > a.value ? b : a));
  }
  return at;
}
