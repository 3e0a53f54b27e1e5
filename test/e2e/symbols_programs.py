"""Programs with 10,000 calls and more, for tests that compare names with those of other symbolizers."""

import os
import subprocess

UNIT = """
#include <stdlib.h>
void touch(int);
static inline int first(int x) { touch(x); if (x & 1) touch(x + 1); return x * 3; }
static inline int second(int x) { int r = first(x) + 1;
 touch(r);
 return r; }
"""
FUNCTION = """int f{unit}_{i}(int n) {{
  int s = 0;
  for (int i = 0; i < n; i++) {{
    s += second(i + {i});
    if (s & {bit})
      touch(s);
    s ^= first(s);
  }}
  free(malloc(n));
  return s;
}}
"""


def build_c(folder):
    """Builds a C program of nine units as `whole`, and once more with split DWARF, as `split`. Both have the same code."""
    (folder / "main.c").write_text("void touch(int x) { __asm__ volatile(\"\" : : \"r\"(x)); }\nint main(void) { return 0; }\n")
    for unit in range(8):
        functions = (FUNCTION.format(unit=unit, i=i, bit=1 << i % 7) for i in range(220))
        (folder / f"u{unit}.c").write_text(UNIT + "".join(functions))
    sources = ["main.c", *(f"u{unit}.c" for unit in range(8))]
    for name, flags in (("whole", []), ("split", ["-gsplit-dwarf"])):
        subprocess.run(["gcc", "-O2", "-g", *flags, "-o", name, *sources], cwd=folder, check=True)
    return folder / "whole", folder / "split"


RUST_HEAD = """
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
trait Weighed { fn weight(&self) -> u64; }
#[inline(always)]
fn heaviest<T: Weighed + Clone>(all: &[T]) -> Option<T> { all.iter().max_by_key(|one| one.weight()).cloned() }
fn shown<T: Debug>(value: &T) -> usize { format!("{:?}", value).len() }
"""
RUST_MODULE = """
mod unit{i} {{
    use super::*;
    #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Kind {{ Small([u8; {n}]), Named(String), Many(Vec<u{bits}>) }}
    #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Item {{ pub kind: Kind, pub number: u{bits}, pub next: Option<Box<Item>> }}
    impl Weighed for Item {{
        fn weight(&self) -> u64 {{
            let own = match &self.kind {{
                Kind::Small(bytes) => bytes.iter().map(|b| *b as u64).sum(),
                Kind::Named(name) => name.chars().filter(|c| c.is_alphabetic()).count() as u64,
                Kind::Many(list) => list.iter().map(|n| *n as u64 + {i}).max().unwrap_or(0),
            }};
            own + self.next.as_ref().map_or(0, |item| item.weight())
        }}
    }}
    pub fn make(count: usize) -> Vec<Item> {{
        let mut items = Vec::new();
        for i in 0..count {{
            let kind = match i % 3 {{
                0 => Kind::Small([i as u8; {n}]),
                1 => Kind::Named(format!("item {{}} of unit {i}", i)),
                _ => Kind::Many((0..i).map(|n| n as u{bits}).collect()),
            }};
            let next = items.last().cloned().map(Box::new);
            items.push(Item {{ kind, number: i as u{bits}, next }});
        }}
        items
    }}
    #[inline(never)]
    pub fn run(count: usize) -> u64 {{
        let mut items = make(count);
        items.sort();
        items.dedup_by(|a, b| a.number == b.number);
        let set: HashSet<Item> = items.iter().cloned().collect();
        let mut map: HashMap<String, Vec<Item>> = HashMap::new();
        let mut tree: BTreeMap<Kind, VecDeque<Item>> = BTreeMap::new();
        let mut heap = BinaryHeap::new();
        for item in &items {{
            map.entry(format!("{{}}", item.number)).or_default().push(item.clone());
            tree.entry(item.kind.clone()).or_default().push_back(item.clone());
            heap.push((item.weight(), item.clone()));
        }}
        let mut sum = set.iter().map(Weighed::weight).sum::<u64>() + heaviest(&items).map_or({i}, |item| item.weight());
        while let Some((weight, item)) = heap.pop() {{
            sum = sum.wrapping_add(weight + shown(&item) as u64);
        }}
        tree.retain(|_, list| list.len() > {n});
        sum + shown(&map) as u64 + shown(&tree) as u64
    }}
}}
"""


def build_rust(folder, *flags):
    """Builds a Rust program that uses much of the standard library with types of its own. Raises CalledProcessError if rustc
    cannot do it."""
    units = range(18)
    source = RUST_HEAD + "".join(RUST_MODULE.format(i=i, n=i + 2, bits=(8, 16, 32, 64)[i % 4]) for i in units)
    source += "fn main() {\n    let count = std::env::args().count();\n"
    source += "".join(f'    println!("{{}}", unit{i}::run(count));\n' for i in units) + "}\n"
    (folder / "program.rs").write_text(source)
    command = ["rustc", "-O", "-g", "--edition", "2021", "-o", "program", *flags, "program.rs"]
    subprocess.run(command, cwd=folder, env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, check=True, stderr=subprocess.PIPE, text=True)
    return folder / "program"
