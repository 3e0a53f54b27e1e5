"""Scopes and labels: which blocks have which, and that the totals are the same as without."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from region_file import environment, listen, receive, record

SCOPES = {
    1001: [], 1002: ["outer"], 1003: ["outer", "tenant=a"], 1004: ["outer", "tenant=a", "tenant=b=c"], 1005: ["outer"],
    1011: ["deep"] * 128, 1012: ["deep"] * 100, 1013: [], 1014: ["after too many ends"],
    1021: ["stays", "ends by token", "left", "left, too"], 1025: ["stays", "left", "left, too"],
    1022: ["stays", "ends by token"], 1023: ["stays"], 1024: [],
    1031: [], 1032: ["worker"], 1033: ["main thread"],
    1041: ["one"], 1042: ["two"], 1043: ["below no name"],
    1051: ["interrupted", "handler"], 1052: ["interrupted"],
    **{1081 + i: [f"scope {i % 5}"] for i in range(9)},
    1061: ["before the fork"],
}
IN_CHILD = {1062: ["before the fork", "child"], 1063: ["before the fork"]}


def of_malloc(region, first):
    return {size: scopes for (heap, size), scopes in region.blocks().items()
            if heap == "libc.malloc" and first <= size < first + 100}


@pytest.fixture
def program(target, flags):
    return target("scopes", "-pthread", *flags[0], *flags[1])


def test_scopes_of_blocks(dist, program):
    own, child = record(dist, [program, "fork"])
    found = of_malloc(own, 1000)
    assert found == SCOPES
    assert own.blocks()["pool", 1071] == own.blocks()["mmap", 1072 * 4096] == ["job=7"]
    assert child.pid != own.pid and of_malloc(child, 1000) == {**SCOPES, **IN_CHILD}


@pytest.mark.costly
def test_scopes_in_cpp(dist, target, flags):
    (region,) = record(dist, [target("scopes_cpp", "-std=c++17", *flags[0], *flags[1])])
    fails = ["fails", "fails by macro", "never ended"]
    assert of_malloc(region, 2000) == {
        2001: ["outer", *fails], 2002: ["outer", *fails, *fails], 2011: ["outer"], 2012: ["outer"], 2013: [],
        2021: ["known", "tenant=a", "job=42"], 2031: ["narrow"], 2032: ["wide"]}


def test_report_by_scope(heapscope, run, program):
    """The report divides memory by scope and by label, and the parts add up."""
    file = run([program], "-i", 1).file
    report = json.loads(heapscope("report", "--json", "--by", "scope", "--view", "peak", file).stdout)
    scopes = {part["scope"]: part["amount"]["bytes"] for part in report["parts"]}
    # Of a deep nest, only the innermost scopes are shown: two may read the same.
    assert sum(part["amount"]["bytes"] for part in report["parts"]) == report["totals"]["peak"]["bytes"]
    assert scopes["outer"] == 1002 + 1005
    assert scopes["outer > tenant=a"] == 1003 and scopes["outer > tenant=a > tenant=b=c"] == 1004
    assert scopes["(none)"] > 0
    labels = json.loads(heapscope("report", "--json", "--by", "label:tenant,stack", "--view", "peak", file).stdout)
    tenants = {part["label"]: part["amount"]["bytes"] for part in labels["parts"]}
    assert tenants["tenant=a"] == 1003 and tenants["tenant=b=c"] == 1004
    assert sum(tenants.values()) == labels["totals"]["peak"]["bytes"]
    rows = heapscope("query", "--format", "csv", file,
                     "SELECT sum(bytes) FROM heapscope_parts WHERE view = 'peak' AND scope = 'outer > tenant=a'").stdout
    assert float(rows.splitlines()[1]) == 1003


@pytest.mark.parametrize("count,lost", [(1000, 0), (66000, 1)])
def test_too_many_scopes(heapscope, run, target, flags, count, lost):
    """The library has room for 65,534 names. The report says that others were not told apart."""
    file = run([target("scope_many", *flags[0], *flags[1]), str(count)], "-i", 1).file
    report = json.loads(heapscope("report", "--json", file).stdout)
    losses = {loss["name"]: loss["count"] for loss in report["losses"]}
    assert ("lost_scopes" in losses) == (lost > 0)
    assert losses.get("lost_scopes", 0) >= 466 * lost
    line = next(line for line in heapscope("report", "--health", file).stdout.splitlines() if "scopes recorded as (other)" in line)
    assert (line.split()[0] != "0") == (lost > 0)
    assert report["is_exact"]


def test_another_session(dist, target, flags):
    """Ids of scopes mean nothing in the next region: an open scope is stored there again."""
    listener, name = listen()
    with listener, subprocess.Popen([target("scope_sessions", *flags[0], *flags[1])], env=environment(dist, name),
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        peer = listener.accept()[0]
        first = receive(peer)
        assert process.stdout.read(1) == b"."
        assert of_malloc(first, 3000) == {3001: ["outer"], 3002: ["outer", "first"]}
        first.begin_session()
        process.stdin.write(b"\n")
        assert process.stdout.read(1) == b"."
        with listener.accept()[0] as other:
            second = receive(other)
        assert of_malloc(second, 3000) == {3003: ["outer"], 3004: ["outer", "second"]}
        process.stdin.write(b"\n")
        peer.close()


@pytest.mark.parametrize("more", [(), ("-DHEAPSCOPE_WEAK",)])
def test_without_a_client(target, flags, more):
    linked = () if more else flags[1]
    subprocess.run([target("scopes", "-pthread", *more, *flags[0], *linked)], check=True, timeout=60)


def figures(done, heapscope):
    report = done.report("--view", "space", "--top", "all")
    sql = heapscope("query", "--format", "json", done.file,
                    "select heap_name, sum(size) as size, sum(count) as n from heap_profile_allocation group by 1 order by 1")
    assert sql.returncode == 0, sql.stderr
    stacks = sorted((s["live"]["bytes"], s["live"]["count"], [f["function"] for f in s["frames"]]) for s in report["stacks"])
    return report["totals"], report["heaps"], stacks, json.loads(sql.stdout)


def test_totals_are_as_without_scopes(run, target, flags, heapscope):
    """Stacks that differ in their scopes only are added up: no view shows a part of them, or one of them twice."""
    with_scopes, without = (figures(run([target("scopes", "-pthread", *more, *flags[0], *flags[1])], "-i", 1), heapscope)
                            for more in ((), ("-DNO_SCOPES",)))
    assert with_scopes == without


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_instructions(root, target, flags, tmp_path, monkeypatch):
    """A sample costs the same whether its thread has never opened a scope or has none open now."""
    monkeypatch.syspath_prepend(str(root / "bench"))
    for name in ("variants", "storms", "instructions"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    instructions = __import__("instructions")
    program = target("scope_cost", "-O2", *flags[0], *flags[1])
    without = target("scope_cost", "-O2", "-DHEAPSCOPE_WEAK", *flags[0])  # and without the library

    def cost(program, scopes, function, library=None):
        monkeypatch.setenv("SCOPES", scopes)
        counted = []
        for count in (500, 2500):
            own = instructions.run(program, str(tmp_path), 1, 0, function, count)
            counted.append(instructions.own_cost(str(tmp_path / "callgrind.out"), library) if library else own)
        return (counted[1] - counted[0]) / 2000

    usual = cost(without, "none", "counted_malloc")
    assert abs(cost(program, "none", "counted_malloc") - usual) < 1
    assert abs(cost(program, "ended", "counted_malloc") - usual) < 1
    assert cost(program, "open", "counted_malloc") < usual + 600, "instructions of one open scope; was 508"
    assert 8 <= cost(program, "none", "counted_scopes", os.path.basename(program)) <= 20, "a begin and its end; was 18"


PYTHON = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.heapscope_scope_begin.argtypes = [ctypes.c_char_p]
library.heapscope_scope_begin(b"load settings")
kept = [str(i) * 8 for i in range(20000)]
library.heapscope_scope_end()
other = [str(i) * 9 for i in range(20000)]
"""


@pytest.mark.costly
@pytest.mark.parametrize("interval", [1, 16384], ids=lambda interval: f"i{interval}")
def test_objects_of_python(heapscope, dist, run, interval):
    """The scopes of a Python program, also for samples that are moved to malloc."""
    file = run(["/usr/bin/python3", "-c", PYTHON, dist / "lib/libheapscope.so"], "-i", interval).file
    done = heapscope("query", "--format", "csv", file, """
        SELECT sum(count), sum(bytes) FROM heapscope_parts WHERE view = 'peak' AND heap_name = 'python.obj' AND scope = 'load settings'""")
    count, size = map(float, done.stdout.split()[1].split(","))
    # A str of 8 to 40 characters takes 49 bytes more; the interpreter may make some objects of its own.
    want = sum(49 + 8 * len(str(i)) for i in range(20000))
    if interval == 1:
        assert 20000 <= count < 20500 and want <= size < 1.03 * want
    else:
        assert 0.6 * want < size < 1.4 * want
