"""The programs whose stacks test_stacks.py compares."""

NODE = {
    # parsing and printing
    "json": r'''
let n = 0;
for (let r = 0; r < 30; r++) {
  let a = [];
  for (let i = 0; i < 2000; i++) a.push({ x: i, s: 'v' + i, t: [i, String(i)] });
  n += JSON.stringify(JSON.parse(JSON.stringify(a))).length;
}
console.log(n);
''',
    # compiled patterns, replace with a function
    "regex": r'''
let n = 0;
for (let i = 0; i < 4000; i++) {
  const r = new RegExp(`(a|b${i % 977})+c?(\\d{1,${1 + i % 9}})`, 'g');
  n += ('ab' + i + 'c12345 '.repeat(20)).replace(r, (m) => m.toUpperCase()).length;
}
console.log(n);
''',
    # objects, typed arrays, sort, structuredClone
    "churn": r'''
const m = new Map();
for (let i = 0; i < 60000; i++) {
  m.set(i % 5000, { i, a: new Array(i % 50).fill(i), f: new Float64Array(i % 40) });
}
const s = [...m.values()].sort((x, y) => x.a.length - y.a.length).map((x) => structuredClone(x.a)).length;
console.log(s);
''',
    # four threads with a heap each
    "workers": r'''
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) {
  for (let i = 0; i < 4; i++) new Worker(__filename, { workerData: i }).on('message', (m) => console.log(m.length));
  let b = []; for (let i = 0; i < 20000; i++) b.push(Buffer.alloc(9000 + i % 100)); console.log(b.length);
} else {
  let a = [];
  for (let i = 0; i < 20000; i++) { a.push({ w: workerData, s: 'v' + i, b: Buffer.allocUnsafeSlow(64 + i % 64) }); if (a.length > 500) a = []; }
  parentPort.postMessage(JSON.stringify(a));
}
''',
    # compiled WebAssembly that calls JavaScript
    "wasm": r'''
// r(n): the sum of f(i) for i < n
const bytes = new Uint8Array([0,97,115,109,1,0,0,0, 1,6,1,96,1,127,1,127, 2,7,1,1,101,1,102,0,0, 3,2,1,0, 7,5,1,1,114,0,1,
  10,33,1, 31, 1,2,127, 3,64, 32,2, 32,1, 16,0, 106, 33,2, 32,1, 65,1, 106, 34,1, 32,0, 72, 13,0, 11, 32,2, 15, 11]);
let keep = [];
const f = (i) => { keep.push(Buffer.alloc(5000)); if (keep.length > 100) keep = []; return i; };
for (let k = 0; k < 20; k++) {
  const m = new WebAssembly.Module(bytes);
  const inst = new WebAssembly.Instance(m, { e: { f } });
  console.log(inst.exports.r(2000));
}
''',
    # optimised loops that call into Buffer.alloc, hashes and zlib
    "hot": r'''
const native = require('zlib'), crypto = require('crypto');
function inner(i) { return Buffer.alloc(100 + (i & 4095)); }
function middle(i) { let n = 0; for (let k = 0; k < 10; k++) n += inner(i + k).length; return n; }
function outer() { let n = 0; for (let i = 0; i < 1500; i++) n += middle(i); return n; }
console.log(outer());
let h = 0;
for (let i = 0; i < 1000; i++) h ^= crypto.createHash('sha256').update('x' + i).digest()[0];
for (let i = 0; i < 300; i++) h ^= native.gunzipSync(native.gzipSync('abc'.repeat(i))).length;
console.log(h);
''',
    # generators, promises, file reads, a proxy
    "async": r'''
const fs = require('fs/promises');
async function* gen(n) { for (let i = 0; i < n; i++) { await null; yield { i, b: Buffer.alloc(6000) }; } }
(async () => { let n = 0; for await (const x of gen(5000)) n += x.b.length;
  await Promise.all([...Array(200)].map(() => fs.readFile(__filename)));
  class A { #x = 1; get x() { return this.#x; } static { this.z = new Proxy({}, { get: (t, k) => Buffer.alloc(9000).length }); } }
  for (let i = 0; i < 3000; i++) n += A.z['k' + i]; console.log(n); })();
''',
    # 600 frames deep, a stack overflow, exceptions
    "recurse": r'''
function f(n, g) { return n === 0 ? g() : f(n - 1, g) + 1; }
let n = 0;
for (let i = 0; i < 300; i++) n += f(i * 7 % 600, () => Buffer.alloc(5000).length);
try { (function r(i) { if (i % 50 === 0) Buffer.alloc(10000); r(i + 1); })(1); } catch (e) { n++; }
for (let i = 0; i < 500; i++) { try { [3, 1, 2].sort(() => { throw new Error('e' + i + Buffer.alloc(5000).length); }); } catch (e) { n += e.stack.length; } }
console.log(n);
''',
    # new code all the time, contexts, Intl
    "eval": r'''
const vm = require('vm');
let n = 0;
for (let i = 0; i < 800; i++) {
  n += new Function('a', `let s = 0; for (let i = 0; i < 50; i++) s += a + i * ${i}; return s + [1,2,3].map(x => x + ${i}).length + Buffer.alloc(9000)[${i}]`)(i);
  if (i % 20 === 0) n += vm.runInNewContext('x => [..."abc"].map(y => y + x).join("")')(i).length;
}
console.log(n, Intl.NumberFormat('de').format(n), new Date().toLocaleString('fr'), 'zé'.localeCompare('za'));
''',
    # weak references, a finalizer, collections
    "gc": r'''
const keep = []; const reg = new FinalizationRegistry(() => keep.push(Buffer.alloc(5000)));
for (let i = 0; i < 200000; i++) { reg.register({ i }, i); if (keep.length > 50) keep.length = 0; }
global.gc && global.gc();
const s = new SharedArrayBuffer(1 << 20); console.log(s.byteLength, new WeakRef({}).deref() !== undefined);
setTimeout(() => console.log(keep.length), 100);
''',
    # loops that switch from the interpreter to compiled code while they run
    "osr": r'''
const keep = [];
let n = 0;
for (let i = 0; i < 600; i++) {
  const f = new Function('a', `let s = 0; for (let i = 0; i < 4000; i++) { s += a ^ i + ${i}; if (i % 500 === 0) s += [i].length } return s`);
  n += f(i);
}
console.log(n);
''',
}

JAVA = r'''
import java.util.*; import java.util.stream.*; import java.nio.ByteBuffer; import java.util.zip.*;
public class Jit {
  static long hot(int n) { long s = 0; for (int i = 0; i < n; i++) { ByteBuffer b = ByteBuffer.allocateDirect(64 + (i & 255)); b.putInt(0, i); s += b.getInt(0); } return s; }
  static long zip(int i) { byte[] in = new byte[1000 + i % 100]; Deflater d = new Deflater(); d.setInput(in); d.finish(); byte[] o = new byte[2000]; int n = d.deflate(o); d.end(); return n + o.length; }
  static long deep(int n, int i) { return n == 0 ? zip(i) : deep(n - 1, i) + 1; }
  public static void main(String[] a) {
    long s = 0;
    for (int i = 0; i < 10; i++) s += hot(2000);
    for (int i = 0; i < 3000; i++) s += deep(i % 60, i);
    Map<String, Integer> m = new HashMap<>(); for (int i = 0; i < 200000; i++) m.merge("k" + i % 5000, 1, Integer::sum);
    s += IntStream.range(0, 500).mapToObj(i -> "x" + i).sorted(Comparator.reverseOrder()).mapToLong(x -> zip(x.length())).sum();
    System.out.println(s);
  }
}
'''

RUST = r'''
use std::collections::{BTreeMap, HashMap};
use std::panic;
use std::rc::Rc;
use std::thread;

#[derive(Clone, Debug)]
enum Tree { Leaf(String), Node(Box<Tree>, Box<Tree>) }

fn grow(depth: u32, seed: u32) -> Tree {
    if depth == 0 { Tree::Leaf(format!("leaf {seed}")) }
    else { Tree::Node(Box::new(grow(depth - 1, seed * 2)), Box::new(grow(depth - 1, seed * 2 + 1))) }
}
fn weight(tree: &Tree) -> usize {
    match tree { Tree::Leaf(text) => text.clone().len(), Tree::Node(a, b) => weight(a) + weight(b) }
}
struct Noisy(Vec<u8>);
impl Drop for Noisy { fn drop(&mut self) { let copy = self.0.clone(); std::hint::black_box(&copy); } }

fn fails(n: usize) -> usize {
    let _noisy = Noisy(vec![1; n % 50 + 1]);
    if n % 3 == 0 { panic!("at {n}") }
    if n % 3 == 1 { let empty: Vec<usize> = Vec::new(); return empty[n]; }
    n
}
fn work(seed: u32) -> usize {
    let tree = grow(8, seed);
    let mut names: HashMap<String, Rc<Vec<u32>>> = HashMap::new();
    let mut order: BTreeMap<u32, Box<dyn Fn(u32) -> Vec<u32>>> = BTreeMap::new();
    for i in 0..2000u32 {
        names.entry(format!("k{}", i % 100)).or_insert_with(|| Rc::new((0..i).collect()));
        order.insert(i.wrapping_mul(2654435761), Box::new(move |x| vec![x; (i % 7) as usize + 1]));
    }
    let sum: usize = order.values().map(|f| f(seed).len()).sum();
    let mut words: Vec<String> = names.keys().cloned().collect();
    words.sort_by_key(|word| word.chars().rev().collect::<String>());
    let caught = (0..60).filter(|n| panic::catch_unwind(move || fails(*n)).is_err()).count();
    sum + weight(&tree) + words.join(",").len() + caught
}
fn main() {
    panic::set_hook(Box::new(|info| { std::hint::black_box(info.to_string()); }));
    let alone = work(7);
    let threads: Vec<_> = (0..3).map(|seed| thread::spawn(move || work(seed))).collect();
    let total: usize = alone + threads.into_iter().map(|t| t.join().unwrap()).sum::<usize>();
    println!("{total}");
}
'''

SQL = r'''
create table t(a integer primary key, b text, c real); create index i on t(b);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 5000) insert into t select x, 'v' || (x * 7919 % 5000), x / 3.0 from n;
select count(*), sum(c) from t where b like 'v1%'; select b, group_concat(a) from t group by substr(b, 1, 3) order by 2 desc limit 5;
create virtual table f using fts5(x); insert into f select b || ' word ' || a from t limit 500; select count(*) from f where f match 'word';
select json_extract(json_object('a', json_array(1, 2, a)), '$.a[2]') from t limit 500;
create view w as select t1.a, t2.b from t t1 join t t2 on t1.a = t2.a + 1; select max(b) from w; explain query plan select * from w where b > 'v2';
select printf('%08.3f %s', c, upper(b)) from t limit 300; create trigger g after update on t begin insert into f values (new.b); end; update t set b = b || 'x' where a < 300; vacuum;
'''
