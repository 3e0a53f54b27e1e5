"""10,000 addresses each of clang++'s libraries, libstdc++, python3, node, a Rust program and a C program with split DWARF: our names,
lines and inlined calls are those of llvm-symbolizer or addr2line, and each difference to one of them belongs to a class that
symbols_differences.py explains and proves. Where places differ, gdb says what
we say of some addresses of each class."""

import collections
import pathlib
import re
import shutil
import subprocess

import pytest
import symbols_programs as programs
import symbols_reference as reference
from symbols_differences import ADDR2LINE, CLASSES, LLVM, Answer, SymbolList, classify

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBS = pathlib.Path("/usr/lib/x86_64-linux-gnu")
PROGRAMS = {LLVM: "llvm-addr2line-14", ADDR2LINE: "addr2line"}
COUNT = 10000


@pytest.fixture(scope="session")
def symbols(built_once):
    return reference.tool_in(built_once("symbols", lambda folder: reference.build_tool(ROOT, folder)))


def evenly(addresses):
    assert len(addresses) >= COUNT
    return [addresses[i * len(addresses) // COUNT] for i in range(COUNT)]


class Subject:
    """A module, where its names are, and the addresses to look up."""

    def __init__(self, module, has_calls, proof=None):
        self.module = pathlib.Path(module).resolve()
        self.names = reference.debug_file(self.module) or str(self.module)
        addresses = reference.call_sites(self.module) if has_calls else reference.code_addresses(self.module, COUNT)
        self.addresses = evenly(addresses)
        self.proof = proof  # the same program in a form that all symbolizers read

    def symbol_list(self):
        sections = subprocess.run(["readelf", "-SW", self.names], stdout=subprocess.PIPE, text=True, check=True).stdout
        return SymbolList(self.names, "--syms" if " .symtab " in sections else "--dyn-syms")

    def ask(self, tool):
        return reference.ask(PROGRAMS[tool], self.names, self.addresses)

    def proven(self):
        """What both others say of the same program in another form, where they agree."""
        if not self.proof:
            return {}
        answers = [reference.ask(program, str(self.proof), self.addresses) for program in PROGRAMS.values()]
        return {address: chain for address, chain in answers[0].items() if chain == answers[1].get(address)}


def installed(path, has_calls=False):
    def make(_):
        if not pathlib.Path(path).exists():
            pytest.skip(f"{path} is not installed")
        return Subject(path, has_calls)
    return make


def make_rust(folder):
    if not shutil.which("rustc"):
        pytest.skip("rustc is not installed")
    try:
        return Subject(programs.build_rust(folder), True)
    except subprocess.CalledProcessError as err:
        pytest.skip(f"rustc cannot do it: {err.stderr[:200]}")


def make_split(folder):
    whole, split = programs.build_c(folder)
    assert reference.call_sites(whole) == reference.call_sites(split), "the code must be the same"
    return Subject(split, True, proof=whole)


def lines_of_gdb(module, addresses):
    """{address: (name of the file without its folder, line)}, as gdb knows it."""
    command = ["gdb", "-nx", "-batch", *(word for a in addresses for word in ("-ex", f"info line *{a:#x}")), str(module)]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout
    found = re.findall(r'^(?:Line (\d+) of "(?:[^"]*/)?([^"]+)"|No line number).*$', said, re.M)
    assert len(found) == len(addresses), said
    return {address: (file, int(line or 0)) for address, (line, file) in zip(addresses, found)}


SUBJECTS = {
    "libLLVM, of clang++": installed(LIBS / "libLLVM-14.so.1"),
    "libclang-cpp, of clang++": installed(LIBS / "libclang-cpp.so.14"),
    "libstdc++": installed(LIBS / "libstdc++.so.6", has_calls=True),
    "libstdc++ with DWARF": installed(LIBS / "debug" / "libstdc++.so.6", has_calls=True),
    "python3.11": installed("/usr/bin/python3.11", has_calls=True),
    "node": installed("/usr/bin/node"),
    "a Rust program": make_rust,
    "a C program with split DWARF": make_split,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_differences(symbols, tmp_path, name):
    subject = SUBJECTS[name](tmp_path)
    found = symbols(subject.module, subject.addresses)
    theirs = {tool: subject.ask(tool) for tool in PROGRAMS}
    symbol_list, proven = subject.symbol_list(), subject.proven()
    counts, unexplained, samples = collections.Counter(), [], collections.defaultdict(dict)
    for address in subject.addresses:
        ours = found.comparable(address)
        equal = [tool for tool in PROGRAMS if theirs[tool][address] == ours]
        counts[" and ".join(equal) or "neither"] += 1
        for tool in PROGRAMS:
            other = theirs[ADDR2LINE if tool == LLVM else LLVM][address]
            if tool not in equal:
                answer = Answer(address, ours, theirs[tool][address], other, str(subject.module), symbol_list, proven.get(address))
                one = classify(tool, answer)
                counts[f"{tool}: {one.name if one else 'UNEXPLAINED'}"] += 1
                if one and one.is_of_places:
                    samples[one.name][address] = (pathlib.Path(ours[0][1]).name, ours[0][2])
                if not one:
                    unexplained.append((hex(address), tool, ours, answer.theirs, other))
    print(f"\n{name}: {found.source}, {len(subject.addresses)} addresses")
    for what, count in sorted(counts.items()):
        print(f"  {count:6}  {what}")
    for row in unexplained[:10]:
        print("  ", row)
    assert not unexplained, f"{len(unexplained)} differences without a class"
    for each in samples.values():
        some = dict(sorted(each.items())[::max(1, len(each) // 5)])
        assert lines_of_gdb(subject.module, list(some)) == some


def test_classes_are_explained():
    assert len({one.name for one in CLASSES}) == len(CLASSES)
    assert all(one.right and one.why and one.tools for one in CLASSES)
