'use strict';
// Allocates buffers of known sizes at random depths of JavaScript, and says which JavaScript stack each was allocated
// at: js_stacks.js RESULT MOMENTS SEED [REPEATS]. With REPEATS, each way is taken so often, and the garbage collector
// runs after each of them. Used by test_js_frames.py. Says in RESULT, as JSON, a list of {bytes, stack},
// where stack is a list of [function, file] from the function that allocates outwards.
const fs = require('fs');
const vm = require('vm');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

const [result, moments, seed, repeats] = isMainThread
  ? [process.argv[2], Number(process.argv[3]), Number(process.argv[4]), Number(process.argv[5] || 1)]
  : [null, workerData.moments, workerData.seed, workerData.repeats];
const found = [];
let state = seed;
let kept = [];

function random(below) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >>> 8) % below;
}

Error.stackTraceLimit = Infinity;

// The size is another one at each moment, in all threads.
function moment(walk) {
  const bytes = 4096 + 16 * (walk.number * 4 + (isMainThread ? 0 : 1));
  const error = {};
  const prepare = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, sites) => sites;
  Error.captureStackTrace(error);
  const sites = error.stack;
  Error.prepareStackTrace = prepare;
  found.push({
    bytes,
    stack: sites.filter((site) => !site.isAsync())
      .map((site) => [site.getFunctionName(), site.getFileName() || null]),
  });
  kept.push(Buffer.allocUnsafeSlow(bytes));
  if (kept.length > 50) kept = [];
  const every = repeats > 1 ? 5 : 100;
  if (walk.number % every === every - 1 && global.gc) global.gc({ type: walk.number % 200 === 99 ? 'minor' : 'major' });
  return 1;
}

function next(walk) {
  if (walk.at === walk.links.length) return moment(walk);
  return links[walk.links[walk.at++]](walk);
}

class Shop {
  constructor(walk) { if (walk) this.made = next(walk); }
  method(walk) { return next(walk); }
  static still(walk) { return next(walk); }
  #hidden(walk) { return next(walk); }
  open(walk) { return this.#hidden(walk); }
  get price() { return next(this.walk); }
  set price(walk) { next(walk); }
  *each(walk) { yield next(walk); }
}
class Sale extends Shop {
  method(walk) { return super.method(walk); }
}
class Field {
  static walk = null;
  field = Field.walk && next(Field.walk);
}

const holder = {};
holder.inferred = function (walk) { return next(walk); };
const arrow = (walk) => next(walk);
function many(walk) {
  let a00 = walk, a01 = 1, a02 = 2, a03 = 3, a04 = 4, a05 = 5, a06 = 6, a07 = 7, a08 = 8, a09 = 9;
  let b00 = walk, b01 = 1, b02 = 2, b03 = 3, b04 = 4, b05 = 5, b06 = 6, b07 = 7, b08 = 8, b09 = 9;
  let c00 = walk, c01 = 1, c02 = 2, c03 = 3, c04 = 4, c05 = 5, c06 = 6, c07 = 7, c08 = 8, c09 = 9;
  let d00 = walk, d01 = 1, d02 = 2, d03 = 3, d04 = 4, d05 = 5, d06 = 6, d07 = 7, d08 = 8, d09 = 9;
  let e00 = walk, e01 = 1, e02 = 2, e03 = 3, e04 = 4, e05 = 5, e06 = 6, e07 = 7, e08 = 8, e09 = 9;
  let f00 = walk, f01 = 1, f02 = 2, f03 = 3, f04 = 4, f05 = 5, f06 = 6, f07 = 7, f08 = 8, f09 = 9;
  let g00 = walk, g01 = 1, g02 = 2, g03 = 3, g04 = 4, g05 = 5, g06 = 6, g07 = 7, g08 = 8, g09 = 9;
  let h00 = walk, h01 = 1, h02 = 2, h03 = 3, h04 = 4, h05 = 5, h06 = 6, h07 = 7, h08 = 8, h09 = 9;
  const all = function inner() {
    return a00 + a01 + a02 + a03 + a04 + a05 + a06 + a07 + a08 + a09 + b00 + b01 + b02 + b03 + b04 + b05 + b06 + b07 +
      b08 + b09 + c00 + c01 + c02 + c03 + c04 + c05 + c06 + c07 + c08 + c09 + d00 + d01 + d02 + d03 + d04 + d05 + d06 +
      d07 + d08 + d09 + e00 + e01 + e02 + e03 + e04 + e05 + e06 + e07 + e08 + e09 + f00 + f01 + f02 + f03 + f04 + f05 +
      f06 + f07 + f08 + f09 + g00 + g01 + g02 + g03 + g04 + g05 + g06 + g07 + g08 + g09 + h00 + h01 + h02 + h03 + h04 +
      h05 + h06 + h07 + h08 + h09;
  };
  return next(walk) + (all ? 0 : 1);
}

// WebAssembly that calls a function of ours: (module (import "a" "f" (func)) (func (export "g") call 0)).
let wasm_walk = null;
const wasm = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 2, 7, 1, 1, 0x61, 1, 0x66, 0, 0, 3, 2, 1, 0,
  7, 5, 1, 1, 0x67, 0, 1, 10, 6, 1, 4, 0, 0x10, 0, 0x0b])), { a: { f: function imported() { next(wasm_walk); } } });

const ctx = { next, walk: null };
const links = [
  function named(walk) { return next(walk); },
  arrow,
  (walk) => new Sale().method(walk),
  (walk) => Shop.still(walk),
  (walk) => new Shop().open(walk),
  (walk) => { new Shop(walk); return 1; },
  (walk) => { const shop = new Shop(); shop.walk = walk; return shop.price; },
  (walk) => { const shop = new Shop(); shop.price = walk; return 1; },
  (walk) => [...new Shop().each(walk)][0],
  (walk) => { Field.walk = walk; new Field(); Field.walk = null; return 1; },
  (walk) => holder.inferred(walk),
  many,
  (walk) => [1].map(function mapped() { return next(walk); })[0],
  (walk) => { [2, 1].sort((a, b) => { if (walk) { const now = walk; walk = null; next(now); } return a - b; }); return 1; },
  (walk) => { 'x'.replace(/x/, function replacer() { next(walk); return 'y'; }); return 1; },
  (walk) => { JSON.parse('[1]', function reviver(key, value) { if (walk) { const now = walk; walk = null; next(now); } return value; }); return 1; },
  (walk) => Reflect.apply(function applied() { return next(walk); }, null, []),
  (walk) => new Proxy({}, { get: function trap() { return next(walk); } }).x,
  function \u{4e2d}\u6587\u00e4(walk) { return next(walk); },
  (walk) => (function closure(n) { return n ? closure(n - 1) : next(walk); })(random(20)),
  (walk) => eval('next(walk)'),
  (walk) => eval('(function evaluated(w) { return next(w); })')(walk),
  (walk) => new Function('next', 'walk', 'return next(walk);')(next, walk),
  (walk) => { ctx.walk = walk; vm.runInThisContext('(function in_vm(c) { return c.next(c.walk); })', { filename: '/no/such file.js' })(ctx); return 1; },
  (walk) => { wasm_walk = walk; wasm.exports.g(); return 1; },
  (walk) => { walk.later = true; (async function asynchronous() { await null; next(walk); })(); return 1; },
  (walk) => { walk.later = true; Promise.resolve().then(function then() { next(walk); }); return 1; },
  (walk) => next.call(null, walk),
  (walk) => next.bind(null)(walk),
  // Functions of the same form, made anew each time: the same code runs them, perhaps at the same addresses.
  (walk) => [() => function first(w) { return next(w); }, () => function second(w) { return next(w); },
    () => function third(w) { return next(w); }][walk.number % 3]()(walk),
  (walk) => [class { one(w) { return next(w); } }, class { two(w) { return next(w); } }].map((c, i) =>
    (i === walk.number % 2 ? Object.getOwnPropertyNames(c.prototype).slice(1).map((name) => new c()[name](walk)) : 0))[0],
];

async function main() {
  let way = [];
  for (let number = 0; number < moments; number++) {
    if (number % repeats === 0) way = Array.from({ length: 1 + random(8) }, () => random(links.length));
    const walk = { number, at: 0, links: way };
    links[walk.links[walk.at++]](walk);
    if (number % 16 === 0) await new Promise(setImmediate);
  }
  await new Promise(setImmediate);
  if (!isMainThread) return parentPort.postMessage(found);
  const worker = new Worker(__filename, { workerData: { moments: Math.floor(moments / 4), seed: seed + 1, repeats } });
  worker.on('message', (more) => fs.writeFileSync(result, JSON.stringify([...found, ...more])));
}
main();
