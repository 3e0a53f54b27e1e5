"""Thousands of addresses, named by us and by three other tools: the addr2line of binutils, elfutils
and LLVM.

No two of the three agree everywhere. An address therefore counts as equal when there are as many
inlined calls as one of the tools found, and each function and each place is what one of the
tools says. These are the remaining differences, and the reasons why no single tool can be the
reference (all occur in this test's own programs):

    addr2line       reads neither -gsplit-dwarf nor .debug_types; takes DWARF 5 file numbers of
                    template files for those of the including file (glibc: 7 % of the files); names an
                    inlined function without a linkage name after the symbol into which it was
                    inlined; says "<artificial>" for files of LTO units; without DWARF it names code
                    behind the end of a symbol after that symbol.
    eu-addr2line    finds units only by .debug_aranges, which clang does not write; ends a chain of
                    inlined calls at a function without a name of its own; gives start-up code the
                    line of the code before it.
    llvm-addr2line  names functions after any symbol at the same address (glibc: _longjmp for
                    siglongjmp), and the part of a function that was moved away "f.cold".

We give the name from DWARF; of several symbols the global one; and no name for code outside
every symbol.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
import symbols_programs as programs
import symbols_reference as reference
from symbols_differences import SymbolList

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "test" / "target" / "symbols.cc"
LIBS = pathlib.Path("/usr/lib/x86_64-linux-gnu")
TOOLS = ("addr2line", "eu-addr2line", "llvm-addr2line-14")

BUILDS = {
    "gcc": "g++ -O2 -g",
    "gcc-dwarf4": "g++ -O3 -g -gdwarf-4",
    "gcc-lto": "g++ -O2 -g -flto",
    "gcc-zlib": "g++ -O2 -g -gz",
    "gcc-split": "g++ -O2 -g -gsplit-dwarf",
    "clang": "clang++ -O2 -g",
    "clang-dwarf4": "clang++ -O2 -g -gdwarf-4",
    "clang-lines": "clang++ -O2 -gline-tables-only",
    "clang-types": "clang++ -O3 -g -fdebug-types-section",
    "clang-split": "clang++ -O2 -g -gsplit-dwarf",
}


@pytest.fixture(scope="session")
def symbols(built_once):
    return reference.tool_in(built_once("symbols", lambda folder: reference.build_tool(ROOT, folder)))


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """built("gcc"): test/target/symbols.cc, compiled that way."""
    made = {}

    def build(name):
        if name not in made:
            command = BUILDS[name].split()
            if not shutil.which(command[0]):
                pytest.skip(f"{command[0]} is not installed")
            folder = tmp_path_factory.mktemp(name)
            # Compiled in its folder, because split units are found from there.
            subprocess.run([*command, str(SOURCE), "-o", "program"], cwd=folder, check=True)
            made[name] = folder / "program"
        return made[name]

    return build


def agrees(ours, references):
    same_depth = [chain for chain in references if len(chain) == len(ours)]
    return bool(same_depth) and all(
        any(chain[i][0] == function for chain in same_depth)
        and any(chain[i][1:] == (file, line) for chain in same_depth)
        for i, (function, file, line) in enumerate(ours)
    )


def share_that_agrees(found, addresses, module, tools=TOOLS):
    answers = [a for a in (reference.ask(tool, str(module), addresses) for tool in tools) if a]
    assert answers, f"none of {tools} is installed"
    different = {}
    for address in addresses:
        ours = found.comparable(address)
        theirs = [answer[address] for answer in answers if address in answer]
        if not agrees(ours, theirs):
            different[address] = (ours, theirs)
    for address, (ours, theirs) in list(different.items())[:10]:
        print(f"{address:#x}: {ours}\n    {theirs}")
    return 1 - len(different) / len(addresses)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("name", BUILDS)
def test_programs(symbols, built, name):
    program = built(name)
    addresses = reference.call_sites(program)
    assert len(addresses) > 100
    found = symbols(program, addresses)
    assert found.source == "dwarf"
    assert share_that_agrees(found, addresses, program) >= 0.995


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("name", BUILDS)
def test_inlined_chain(symbols, built, name):
    """What the source itself says: hidden() is called in innermost(), in middle(), in callers."""
    program = built(name)
    lines = SOURCE.read_text().splitlines()

    def line_of(text):
        return 1 + next(i for i, line in enumerate(lines) if text in line)

    found = symbols(program, reference.call_sites(program))
    chains = [
        [(re.sub(r"^outer::|\(.*", "", f), line) for f, _, file, line in chain]
        for chain in found.chains.values()
    ]
    inner = ("innermost", line_of("return hidden(x)"))
    outer = ("middle", line_of("sum += innermost(i)"))
    c_name = ("plain_c_name", line_of("return outer::middle(x)"))
    assert any(chain[-3:] == [inner, outer, c_name] for chain in chains)
    files = {file for chain in found.chains.values() for _, _, file, _ in chain}
    assert str(SOURCE) in files


@pytest.mark.costly
@pytest.mark.parametrize("name, count", [
    (LIBS / "libc.so.6", 4000),
    (LIBS / "libpython3.11.so.1.0", 4000),
    pytest.param("/usr/bin/python3.11", 10000, marks=pytest.mark.slow),
    pytest.param(LIBS / "libstdc++.so.6", 10000, marks=pytest.mark.slow),
], ids=str)
def test_separate_debug_files(symbols, name, count):
    """Found by build id under /usr/lib/debug; all of these are Debian packages."""
    module = pathlib.Path(name).resolve()
    debug = module.exists() and reference.debug_file(module)
    if not debug:
        pytest.skip(f"no debug file of {name}")
    addresses = reference.call_sites(module, count)
    found = symbols(module, addresses)
    assert found.source == "dwarf" and found.file == debug
    # elfutils' tool walks through the unit for each address, which takes minutes.
    assert share_that_agrees(found, addresses, debug, ("addr2line", "llvm-addr2line-14")) >= 0.995


@pytest.mark.costly
@pytest.mark.parametrize(
    "path, source, options",
    [
        (LIBS / "libLLVM-14.so.1", "dynsym", ["--dyn-syms"]),
        (LIBS / "libclang-cpp.so.14", "dynsym", ["--dyn-syms"]),
        (LIBS / "libstdc++.so.6", "dynsym", ["--dyn-syms"]),
        (pathlib.Path("/usr/bin/node"), None, ["--syms"]),
    ],
    ids=lambda value: value.name if isinstance(value, pathlib.Path) else None,
)
def test_symbol_tables(symbols, path, source, options):
    """Without DWARF: the name of a symbol that covers the address, and none if none does."""
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    module = path.resolve()
    if reference.debug_file(module):
        pytest.skip("its debug file is installed")
    symbol_list = SymbolList(module, *options)
    addresses = reference.code_addresses(module, 10000)
    found = symbols(module, addresses)
    assert source is None or found.source == source
    named, wrong = 0, []
    for address in addresses:
        function, _, line = found.comparable(address)[-1]
        names = symbol_list.names(address)
        named += bool(function)
        # A line means that DWARF had better information: node has some.
        if line == 0 and function not in (names or {""}):
            wrong.append((hex(address), function, names))
    print(f"{named} of {len(addresses)} named", wrong[:10])
    assert named > len(addresses) / 10
    assert len(wrong) <= len(addresses) * 0.001


@pytest.mark.slow
def test_split_units(symbols, tmp_path):
    """A C program with split DWARF has the names, lines and chains of the same program without; of that, all tools say the
    same. LLVM 14 and elfutils 0.188 themselves give most inlined calls of the split one the wrong function."""
    programs.build_c(tmp_path)
    addresses = reference.call_sites(tmp_path / "whole", 10000)
    assert len(addresses) >= 10000 and addresses == reference.call_sites(tmp_path / "split", 10000)
    whole, split = symbols(tmp_path / "whole", addresses), symbols(tmp_path / "split", addresses)
    assert share_that_agrees(whole, addresses, tmp_path / "whole", ("addr2line", "llvm-addr2line-14")) == 1
    assert sum(len(chain) > 1 for chain in split.chains.values()) > 5000
    assert [split.comparable(address) for address in addresses] == [whole.comparable(address) for address in addresses]


def test_names_are_demangled(symbols, built):
    program = built("gcc")
    found = symbols(program, reference.call_sites(program))
    pairs = {(s, f) for chain in found.chains.values() for f, s, _, _ in chain if s.startswith("_Z")}
    readable = subprocess.run(
        ["c++filt"], input="\n".join(s for s, _ in pairs), stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    assert len(pairs) > 20
    assert [f for _, f in pairs] == readable


RUST = """
use std::collections::HashMap;
mod shapes {
    pub trait Area { fn area(&self) -> f64; }
    pub struct Square(pub f64);
    impl Area for Square {
        #[inline(never)]
        fn area(&self) -> f64 { self.0 * self.0 + format!("{}", self.0).len() as f64 }
    }
    #[inline(always)]
    pub fn twice<T: Area>(shape: &T) -> f64 { shape.area() + shape.area() }
}
fn main() {
    let mut map: HashMap<String, Vec<f64>> = HashMap::new();
    for i in 0..10 {
        let grow = |v: &mut Vec<f64>| v.push(shapes::twice(&shapes::Square(i as f64)));
        grow(map.entry(i.to_string()).or_default());
    }
    println!("{}", map.values().flatten().sum::<f64>());
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("mangling", ["legacy", "v0"])
def test_rust(symbols, tmp_path, mangling):
    if not shutil.which("rustc"):
        pytest.skip("rustc is not installed")
    (tmp_path / "program.rs").write_text(RUST)
    command = ["rustc", "-O", "-g", "--edition", "2021", "-Z", "unstable-options", "-o", "program"]
    command += ["-C", f"symbol-mangling-version={mangling}", "program.rs"]
    # Only compilers that allow unstable options can use the older mangling.
    env = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        pytest.skip(f"rustc cannot do it: {done.stderr[:200]}")
    program = tmp_path / "program"
    addresses = reference.call_sites(program, 3000)
    found = symbols(program, addresses)
    names = {f for chain in found.chains.values() for f, *_ in chain}
    assert any(name.endswith("shapes::twice") or "shapes::twice::<" in name for name in names), sorted(names)[:50]
    assert not any(name.startswith("_R") for name in names)
    assert not any(re.search(r"::h[0-9a-f]{16}$", name) for name in names)
    assert share_that_agrees(found, addresses, program) >= 0.995
