"""Types of blocks, found in the memory of the program: `report --by type`, and heapscope_parts."""

import itertools
import os
import re
import signal
import subprocess

import pytest
from running_types import Running, snapshot, types_of
from waiting import let_time_pass, wait_until


@pytest.fixture(params=["symbols", "stripped"])
def objects(request, target, tmp_path):
    """test/target/typed_objects.cc."""
    program = target("typed_objects", "-O2")
    if request.param == "symbols":
        return program
    stripped = tmp_path / "its objects"
    subprocess.run(["strip", "--strip-all", "-o", stripped, program], check=True)
    return stripped


def test_classes(dist, heapscope, objects, tmp_path):
    """Each object has its class, as many as the constructors have counted; and nothing else is taken for an object."""
    it = Running(dist, tmp_path / "x.pftrace", [objects, 200])
    want = {name: int(count) for count, name in it.said}
    file = snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    assert it.end() == 0
    types = types_of(heapscope, file)
    assert len(want) > 15
    assert {name: types[name]["count"] for name in want} == want
    ours = [name for name in types if name.startswith(("shapes::", "make_local", "(anonymous"))]
    assert set(ours) <= set(want)


def test_dead(dist, heapscope, target, tmp_path):
    """A killed program has the types that were found while it ran."""
    file = tmp_path / "x.pftrace"
    it = Running(dist, file, [target("typed_objects", "-O2"), 200])
    want = {name: int(count) for count, name in it.said}
    snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    os.kill(it.pid, signal.SIGKILL)
    assert it.end() == 128 + signal.SIGKILL
    types = types_of(heapscope, file)
    assert {name: types[name]["count"] for name in want} == want


def test_age_of_types(dist, heapscope, target, tmp_path):
    """Of a program that has ended, the heading says how long before that its memory was read; of a running one it does not."""
    file, now = tmp_path / "x.pftrace", tmp_path / "now.pftrace"

    def is_told():
        it = Running(dist, file, [target("typed_objects", "-O2"), 2])
        snapshot(heapscope, it.pid, now)
        let_time_pass(0.3, "types become old, unless they are read again just before the end")
        assert it.end() == 0
        words = heapscope("report", "--by", "type", "--view", "peak", file).stdout
        return re.search(r"not read: [\d.]+ %; types are those of [\d.]+ m?s before the end\n", words)

    wait_until(is_told)
    assert "types are those" not in heapscope("report", "--by", "type", now).stdout


PYTHON = """
import sys, time
class Order: pass
orders = [Order() for i in range(3000)]
pages = [{str(i): [i]} for i in range(2000)]
print('ready', flush=True)
sys.stdin.read()
"""


@pytest.mark.costly
def test_python(dist, heapscope, tmp_path):
    file = tmp_path / "x.pftrace"
    it = Running(dist, file, ["/usr/bin/python3", "-c", PYTHON])
    now = tmp_path / "now.pftrace"

    def are_read():
        """A reading of types ends after a while, and the next one goes on."""
        types = types_of(heapscope, snapshot(heapscope, it.pid, now))
        wanted = {"Order": 3000, "dict": 2000, "list": 2000}
        return all(name in types and types[name]["count"] >= count for name, count in wanted.items())

    wait_until(are_read)
    assert it.end() == 0
    types = types_of(heapscope, now)
    assert types["Order"]["count"] == 3000
    assert 2000 <= types["dict"]["count"] < 4000 and 2000 <= types["list"]["count"] < 4000
    # The interpreter frees them at its end, and then they are dead; they lived at the peak.
    peak = types_of(heapscope, file, "--view", "peak")
    assert peak["Order"]["count"] == 3000


def test_sql(dist, heapscope, target, tmp_path):
    it = Running(dist, tmp_path / "x.pftrace", [target("typed_objects", "-O2"), 50])
    file = snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    it.end()
    done = heapscope("query", "--format", "csv", file, "SELECT sum(count) FROM heapscope_parts WHERE type_name = 'shapes::Diamond' AND view = 'live'")
    assert float(done.stdout.splitlines()[1]) == 50


@pytest.mark.costly
def test_late_blocks(dist, heapscope, target, tmp_path):
    """A reading of types ends after 15 ms; the next one goes on with what was not read, which is told apart. Objects behind many blocks
    without a type are found before all of these are read."""
    it = Running(dist, tmp_path / "x.pftrace", [target("late_types", "-O2"), 500_000, 1000])
    files = (tmp_path / f"{i}.pftrace" for i in itertools.count())
    seen = []

    def look():
        seen.append(types_of(heapscope, snapshot(heapscope, it.pid, next(files))))
        return "Late" in seen[-1] and seen[-1]["Late"]["count"] == 1000 and len(seen) > 3

    wait_until(look)
    assert it.end() == 0
    counts = [types["(not read)"]["count"] for types in seen]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] > 0
    for types in seen:
        assert 501_000 <= sum(types[name]["count"] for name in ("Late", "(unknown)", "(not read)") if name in types) < 501_200
    text = heapscope("report", "--by", "type", "--top", 1, tmp_path / "0.pftrace").stdout
    assert re.search(r"Live memory by type   unknown: [0-9.<]+ %; not read: [0-9.<]+ %", text)


def test_all_blocks_are_read(dist, heapscope, target, tmp_path):
    it = Running(dist, tmp_path / "x.pftrace", [target("late_types", "-O2"), 40_000, 10])
    files = (tmp_path / f"{i}.pftrace" for i in itertools.count())
    seen = []

    def look():
        seen.append(types_of(heapscope, snapshot(heapscope, it.pid, next(files))))
        return "(not read)" not in seen[-1]

    wait_until(look)
    assert it.end() == 0
    assert seen[-1]["Late"]["count"] == 10 and 40_000 <= seen[-1]["(unknown)"]["count"] < 40_200


def test_without_types(heapscope, run):
    """A program that has ended before anything was read has no types, and the report says why."""
    done = run(["/bin/true"], "-i", "1")
    answer = heapscope("report", "--by", "type", done.file)
    assert answer.returncode == 1 and "no types of blocks were recorded" in answer.stderr


# g++ takes one and a half minutes for 10,000 classes.
@pytest.mark.parametrize("classes", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_types(dist, heapscope, target, tmp_path, classes):
    """Of many classes, the file has at most twice the size that it has without types, and no object has the name of another class."""
    program = target("many_types", "-std=c++17", "-O0", "-g0", f"-DCLASSES={classes}")
    files = []
    for options in ([], ["--no-types"]):
        it = Running(dist, tmp_path / "x.pftrace", [program, 3], *options)
        want = {name: int(count) for count, name in it.said}
        for i in itertools.count():  # a reading may end before all is read
            # Without names of functions, which are long here.
            files.append(snapshot(heapscope, it.pid, tmp_path / f"{len(files)}.pftrace", "--no-symbolize"))
            if options or i > 5 or "(not read)" not in types_of(heapscope, files[-1]):
                break
        assert it.end() == 0
    with_types, without = files[-2:]
    assert with_types.stat().st_size <= 2 * without.stat().st_size
    types = types_of(heapscope, with_types)
    assert len(want) == classes and set(want.values()) == {3}
    found = {name: amount["count"] for name, amount in types.items() if name.startswith("Class<")}
    assert all(count <= want[name] for name, count in found.items())
    assert sum(found.values()) >= 0.95 * sum(want.values()), types.keys() - want.keys()
