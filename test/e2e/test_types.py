"""Types of live blocks, found from outside: of C++ programs that count their objects, and of Python programs."""

import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest
from compiling import INCLUDES, ROOT, sources_of
from conftest import clean_env
from resident import need_ptrace
from test_ledger_names import child_of
from test_python_objects import VERSIONS
from waiting import wait_until

COUNT = 200
SHARE_MIN = 0.95
Typed = collections.namedtuple("Typed", "counts facts")


def build_tool(folder):
    sources = [ROOT / "test/e2e/types_tool.c", *sources_of("collect/types"), *sources_of("util", "selfpath", "json_read")]
    sources += [ROOT / "src" / f"{name}.c" for name in
                ("collect/region/region_reader", "collect/region/live_records", "collect/ledger/address_space", "collect/ledger/remote_window",
                 "collect/ledger/residency", "collect/inspect/symbol_file", "inject/remote/remote_memory", "symbol/cxx_function",
                 "symbol/demangle")]
    subprocess.run(["cc", "-std=gnu17", "-O1", "-D_GNU_SOURCE", '-DHS_VERSION="0"', "-w", *INCLUDES, *sources, "-o", folder / "tool",
                    "-liberty", "-lm"], check=True)


@pytest.fixture(scope="module")
def types_of(built_once):
    """types_of(COLLECTOR, PID): {("c++" or "python", name): blocks}, and the tool's figures."""
    need_ptrace()
    tool = built_once("types_tool", build_tool) / "tool"

    def call(collector, pid):
        def look():  # the collector may not have the region yet
            done = subprocess.run([tool, str(collector), str(pid)], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            return done.stdout.splitlines()

        lines = wait_until(look, f"there is no region of {pid}")
        counts = {}
        for line in lines[:-1]:
            count, _, language, name = line.split("\t")
            counts[language, name] = int(count)
        return Typed({key: n for key, n in counts.items() if n > 0},
                     {key: int(n) for key, n in re.findall(r"(\w+) (\d+)", lines[-1])})

    return call


@contextlib.contextmanager
def recorded(dist, folder, args, **env):
    """(the collector's pid, the program's pid, what the program said before "ready")"""
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", "1", "-o", folder / "run.pftrace", "--", *map(str, args)]
    with subprocess.Popen(command, env=clean_env(**env), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        try:
            said = {}
            while (line := process.stdout.readline()) != "ready\n":
                assert line, "the program has ended"
                count, name = line.rstrip("\n").split("\t")
                said[name] = int(count)
            yield process.pid, child_of(process.pid), said
        finally:
            process.stdin.close()
            process.send_signal(signal.SIGTERM)  # which is passed on
            process.wait(60)


def build(folder, *flags, compiler="g++"):
    program = folder / "typed objects"
    subprocess.run([compiler, "-Wall", *flags, ROOT / "test/target/typed_objects.cc", "-o", program], check=True)
    return program


def check(typed, said):
    """All of what the program counted has the right name, and nothing else has a name."""
    wanted = {("c++", name): count for name, count in said.items()}
    assert typed.facts["looked"] == sum(typed.facts[key] for key in ("named", "unknown", "unreadable", "late"))
    right = sum(min(count, typed.counts.get(key, 0)) for key, count in wanted.items())
    assert right >= SHARE_MIN * sum(wanted.values())
    assert {key: n for key, n in typed.counts.items() if n > wanted.get(key, 0)} == {}


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("form, flags", [
    ("with symbols", "-O2"), ("debug file apart", "-O2"), ("stripped", "-O2"), ("stripped", "-O0 -no-pie"),
    ("stripped", "-O2 -static-libstdc++ -static-libgcc"), ("with symbols", "-O2 -Wl,-z,now -Wl,-z,noseparate-code")])
def test_classes(dist, tmp_path, types_of, form, flags):
    program = build(tmp_path, "-g", *flags.split())
    if form == "debug file apart":
        subprocess.run(["objcopy", "--only-keep-debug", program, tmp_path / "apart.debug"], check=True)
    if form != "with symbols":
        subprocess.run(["strip", program], check=True)
    with recorded(dist, tmp_path, [program, COUNT]) as (collector, pid, said):
        typed = types_of(collector, pid)
    assert len(said) == 19 and set(said.values()) == {COUNT}
    check(typed, said)
    assert typed.facts["named"] == sum(said.values())


@pytest.mark.costly
def test_clang(dist, tmp_path, types_of):
    with recorded(dist, tmp_path, [build(tmp_path, "-O2", compiler="clang++"), COUNT]) as (collector, pid, said):
        check(types_of(collector, pid), said)


@pytest.mark.costly
def test_without_rtti(dist, tmp_path, types_of):
    """Then symbols are needed, and without them nothing is said rather than something wrong."""
    program = build(tmp_path, "-O2", "-fno-rtti")
    with recorded(dist, tmp_path, [program, COUNT]) as (collector, pid, said):
        check(types_of(collector, pid), said)
    subprocess.run(["strip", program], check=True)
    with recorded(dist, tmp_path, [program, COUNT]) as (collector, pid, said):
        assert types_of(collector, pid).counts == {}


@pytest.mark.costly
def test_a_forked_child(dist, tmp_path, types_of):
    """Reading leaves the pages shared that a child has in common with its parent."""

    def private_kib(pid):
        smaps = pathlib.Path(f"/proc/{pid}/smaps").read_text()
        heap = re.search(r"\[heap\]\n(.*?)^VmFlags", smaps, re.M | re.S)[1]
        return sum(map(int, re.findall(r"^Private_\w+: +(\d+) kB", heap, re.M)))

    program = build(tmp_path, "-O2")
    with recorded(dist, tmp_path, [program, 20 * COUNT, "fork"]) as (collector, pid, said):
        child = said.pop("child")
        before = private_kib(child)
        check(types_of(collector, child), said)
        assert private_kib(child) - before < 1024  # of a heap of 8 MiB
        os.kill(child, signal.SIGKILL)


PROGRAM = """
import collections, gc, sys
class Point:
    def __init__(self, x):
        self.x = x
class Slots:
    __slots__ = ("x",)
    def __init__(self, x):
        self.x = x
class Meta(type):
    pass
class WithMeta(metaclass=Meta):
    pass
class OwnDict(dict):
    pass
N = 500
kept = [[Point(i) for i in range(N)], [Slots(i) for i in range(N)], [WithMeta() for i in range(N)], [OwnDict(a=i) for i in range(N)],
        [[i] for i in range(N)], [{i: [i]} for i in range(N)], ["text %d" % i for i in range(N)], [i * 1.5 for i in range(N)],
        [10**20 + i for i in range(N)], [b"bytes %d" % i for i in range(N)], [(lambda: i) for i in range(N)],
        [int, str, dict, list] * N]
EXACT = {Point, Slots, WithMeta, OwnDict, type, Meta}
gc.collect()
gc.disable()
tracked = collections.Counter(map(type, gc.get_objects()))
for kind in EXACT:
    print(f"{tracked[kind]}\\t{kind.__name__}")
for kind in (list, dict):
    print(f"{tracked[kind]}\\tat least {kind.__name__}")
for name in ("str", "float", "int", "bytes", "function"):
    print(f"{N}\\tat least {name}")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.costly
@pytest.mark.parametrize("allocator", ["pymalloc", "malloc"])
@pytest.mark.parametrize("python", ["/usr/bin/python3", *(str(VERSIONS / v / "bin/python3") for v in ("3.8.18", "3.12.1", "3.13.0"))])
def test_python(dist, tmp_path, types_of, python, allocator):
    if not os.access(python, os.X_OK):
        pytest.skip(f"{python} is not installed")
    with recorded(dist, tmp_path, [python, "-c", PROGRAM], PYTHONMALLOC=allocator) as (collector, pid, said):
        typed = types_of(collector, pid)
    for name, count in said.items():
        if name.startswith("at least "):
            # Text, numbers and what the collector does not track are there too.
            assert count <= typed.counts["python", name.removeprefix("at least ")] <= count + 12000
        else:
            assert SHARE_MIN * count <= typed.counts["python", name] <= count + 2, name
    assert typed.counts["python", "float"] < 600 and typed.counts["python", "Point"] == 500
    assert not any(language == "c++" for language, _ in typed.counts)


@pytest.mark.costly
def test_python_with_debug_hooks(dist, tmp_path, types_of):
    """PYTHONMALLOC=debug puts words before each object: nothing is recognized, and nothing wrong."""
    with recorded(dist, tmp_path, ["/usr/bin/python3", "-c", PROGRAM], PYTHONMALLOC="debug") as (collector, pid, _):
        typed = types_of(collector, pid)
    assert typed.facts["named"] < 0.01 * typed.facts["looked"]
