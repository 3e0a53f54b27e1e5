/*
 * Brings a large call tree into an order in which a node stands next to what it calls. A file has
 * nodes in the order in which their stacks were seen; of a million stacks, the steps from a node to
 * its caller would then go to distant memory, and every pass over the tree would take several times
 * as long.
 *
 *     file:   main  load  save  load<parse  save<write      (five nodes, each behind its caller)
 *     here:   main  load  load<parse  save  save<write
 *
 * Holds     what a node calls stands in the order of the file. parent[i] < i, as before.
 */

/* A smaller tree is in the caches of the processor anyway, and keeps the order of its file. */
export const LARGE_TREE = 50_000;

/* The place of each node in the new order; null: it has that order already. */
export function preorderPlaces(parent: Int32Array): Int32Array | null {
  const count = parent.length;
  let isOrdered = true;
  /* How many nodes each call has, with itself; later, where the next thing that it calls goes. */
  const sizes = new Int32Array(count).fill(1);
  for (let node = count - 1; node > 0; node--) {
    if (parent[node] >= 0) sizes[parent[node]] += sizes[node];
  }
  const places = new Int32Array(count);
  let next = 0;
  for (let node = 0; node < count; node++) {
    const size = sizes[node];
    const up = parent[node];
    const place = up < 0 ? next : sizes[up];
    if (up < 0) next += size;
    else sizes[up] += size;
    sizes[node] = place + 1;
    places[node] = place;
    if (place !== node) isOrdered = false;
  }
  return isOrdered ? null : places;
}

/* The parents of the nodes at their places. */
export function placedParents(parent: Int32Array, places: Int32Array): Int32Array {
  const placed = new Int32Array(parent.length);
  for (let node = 0; node < parent.length; node++) {
    placed[places[node]] = parent[node] < 0 ? parent[node] : places[parent[node]];
  }
  return placed;
}

/* Other values of the nodes at their places. */
export function placedValues(values: Int32Array, places: Int32Array): Int32Array {
  const placed = new Int32Array(values.length);
  for (let node = 0; node < values.length; node++) placed[places[node]] = values[node];
  return placed;
}
