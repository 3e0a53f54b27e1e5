"""The data of the page that `report --html` writes: they add up to what the report says, for real programs."""

import collections
import itertools
import json
import math
import shutil
import subprocess
import sys

import pytest
from conftest import clean_env
from page_rows import QUANTITIES, Figure, Page, write_page
from waiting import wait_until

VIEWS = {"space": ("live", False), "objects": ("live", True), "alloc_space": ("alloc", False),
         "alloc_objects": ("alloc", True), "peak": ("peak", False)}
WORK = """
import threading, time, zlib
kept = []
def grow(n):
    for i in range(n): kept.append({"a": i, "b": [bytes(40)] * (i % 30), "c": bytearray(900)})
def churn(n):
    for i in range(n): zlib.compress(bytes(i % 5000))
for step in range(5):
    each = threading.Thread(target=grow, args=(3000 * step,), name="grower"); each.start(); each.join()
    churn(2000)
    time.sleep(0.12)
del kept[::2]
"""


def record(dist, file, *command, options=()):
    program = [dist / "bin" / "heapscope", "run", "-q", "-o", file, *options, "--", *command]
    done = subprocess.run([*map(str, program)], stdin=subprocess.DEVNULL, capture_output=True, env=clean_env(), timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="module")
def python(dist, tmp_path_factory):
    """A sampled program of Python with two threads, several heaps and snapshots."""
    file = tmp_path_factory.mktemp("page") / "python.pftrace"
    options = ("-i", 2048, "--dump-every", "100ms")
    return record(dist, file, sys.executable, "-c", WORK, options=options)


@pytest.fixture(scope="module")
def family(dist, tmp_path_factory):
    """A process and forked children, which share its blocks."""
    file = tmp_path_factory.mktemp("page") / "family.pftrace"
    code = """
import os
kept = [bytes(1000 + i % 50) for i in range(20000)]
for child in range(3):
    if os.fork() == 0:
        more = [bytes(700) for i in range(5000 * child)]
        os._exit(0)
for child in range(3): os.wait()
"""
    return record(dist, file, sys.executable, "-c", code)


@pytest.fixture(scope="module")
def redis(dist, tmp_path_factory):
    """redis-server with 20,000 keys."""
    if not shutil.which("redis-server"):
        pytest.skip("no redis-server")
    folder = tmp_path_factory.mktemp("page")
    socket = folder / "redis.sock"
    command = ["redis-server", "--port", 0, "--unixsocket", socket, "--save", "", "--dir", folder]
    program = [dist / "bin" / "heapscope", "run", "-q", "-o", folder / "redis.pftrace", "--", *command]
    with subprocess.Popen([*map(str, program)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=clean_env()) as server:
        wait_until(socket.exists)
        text = "".join(f"SET key:{i:05d} {'v' * (i % 300)}\n" for i in range(20000))
        subprocess.run(["redis-cli", "-s", str(socket)], input=text, text=True, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["redis-cli", "-s", str(socket), "shutdown", "nosave"], check=False, capture_output=True)
        assert server.wait(60) == 0
    return folder / "redis.pftrace"


@pytest.fixture(params=["python", "family", "redis"])
def recorded(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def page(heapscope, tmp_path_factory):
    """page(FILES AND OPTIONS...): the page; the same one for the same arguments."""
    out = tmp_path_factory.mktemp("page") / "page.html"
    made = {}

    def call(*args):
        if args not in made:
            made[args] = write_page(heapscope, out, *args)
        return made[args]

    return call


@pytest.mark.costly(cases=1)
def test_sums(page, report, recorded):
    """The rows of the snapshots that are shown first add up to the report's totals."""
    it, said = page(recorded), report(recorded)
    file = it.profile["files"][0]
    assert file["view"] == said["view"] and it.documents[file["report"]]["totals"] == said["totals"]
    assert len(file["selected"]) == len(said["processes"])
    for quantity, key in itertools.product(QUANTITIES, ("bytes", "count")):
        got = sum(it.sum(snapshot, quantity, key) for snapshot in file["selected"])
        # Files round the counts of rows.
        assert got == pytest.approx(said["totals"][quantity][key], rel=1e-6, abs=0.1), (quantity, key)
    for snapshot in file["selected"]:
        for quantity in QUANTITIES:
            assert it.sum(snapshot, quantity, "bytes") == pytest.approx(it.snapshots[snapshot][quantity]["bytes"], rel=1e-6)


@pytest.mark.costly
def test_earlier_snapshots(page, report, python):
    """Each snapshot has the figures of report --snapshot, and the heaps of a snapshot those of its rows."""
    it = page(python)
    mine = [i for i, snapshot in enumerate(it.snapshots) if snapshot["process"] == len(it.profile["processes"]) - 1]
    assert len(mine) >= 4
    for i in mine:
        snapshot = it.snapshots[i]
        pid = it.profile["processes"][snapshot["process"]]["pid"]
        said = report(python, "--snapshot", snapshot["number"], "--pid", pid)["totals"]
        rows = it.rows(i)
        assert rows.count == snapshot["row_count"] or rows.count > 0.8 * snapshot["row_count"]
        for quantity in QUANTITIES:
            assert it.sum(i, quantity, "bytes") == pytest.approx(said[quantity]["bytes"], rel=1e-6)
            for heap in snapshot["heaps"]:
                got = sum(value for value, of in zip(rows.of[quantity]["bytes"], rows.heap) if of == heap["heap"])
                assert got == pytest.approx(heap[quantity]["bytes"], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("view", VIEWS)
def test_functions(page, report, python, view):
    """The functions by self, with the margins that follow from the rows, are the report's."""
    quantity, is_count = VIEWS[view]
    it = page(python)
    file = it.profile["files"][0]
    paths = it.names("modules", "path")
    names = [(name, paths[module] if module >= 0 else "", file_) for name, module, file_
             in zip(it.names(), it.column("functions", "module"), it.names(name="file"))]
    sums, weights = collections.defaultdict(Figure), collections.defaultdict(float)
    selected = [i for i in file["selected"] if it.snapshots[i]["rows"]]
    least = min(heap["weight_bytes"] or 1 for i in selected for heap in it.counted(i).values() if heap["alloc"]["bytes"] > 0)
    for i in selected:
        rows, heaps = it.rows(i), it.counted(i)
        for row in range(rows.count):
            if rows.heap[row] in heaps:
                name = names[it.headline(rows, row)]
                sums[name].add(rows, row, quantity, heaps[rows.heap[row]])
                weights[name] = max(weights[name], heaps[rows.heap[row]]["weight_bytes"] or 0, least)
    said = report(python, "--view", view, "--top", 30)["functions_by_self"]
    assert len(said) >= 10
    key = "count" if is_count else "bytes"
    for function in said:
        name = function["function"], function.get("module", ""), function.get("file", "")
        figure = sums[name]
        assert figure.sums[key] == pytest.approx(function["self"][key], rel=1e-6, abs=0.1), function
        if f"{key}_low" in function["self"]:
            below, above = figure.margins(weights[name], is_count, view == "peak")
            value = figure.sums[key]
            assert value - below == pytest.approx(function["self"][f"{key}_low"], rel=0.01, abs=2), function
            assert value + above == pytest.approx(function["self"][f"{key}_high"], rel=0.01, abs=2), function


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("by", ["thread", "type", "age"])
@pytest.mark.parametrize("view", ["space", "objects", "peak"])
def test_parts(page, heapscope, recorded, by, view):
    """The parts of the rows add up to report --by."""
    quantity, is_count = VIEWS[view]
    it = page(recorded)
    sums = collections.Counter()
    strings = it.profile["strings"]
    ages = ["under 1 s", "1 to 10 s", "10 s to 1 min", "1 to 10 min"]
    for i in it.profile["files"][0]["selected"]:
        rows, heaps = it.rows(i), it.counted(i)
        for row, thread, type_, _, age, size, count in rows.parts(quantity) if rows.raw["parts"][quantity] else ():
            if rows.heap[row] not in heaps:
                continue
            if by == "thread":
                name = strings[it.column("threads", "name")[thread]], it.column("threads", "tid")[thread]
            elif by == "age":
                name = ages[age]
            else:
                name = strings[it.column("types", "name")[type_]] if type_ is not None else ""
            sums[name] += count if is_count else size
    done = heapscope("report", "--json", "--by", by, "--view", view, recorded)
    if by == "type" and "no types of blocks were recorded" in done.stderr:  # the program ended before they were read
        assert done.returncode == 1 and set(sums) <= {"", "(not read)"}
        return
    assert done.returncode == 0, done.stderr
    said = collections.Counter()
    for part in json.loads(done.stdout)["parts"]:
        name = part[by]
        if by == "thread":
            name = name.rpartition(" (tid ")[0], int(name.rpartition(" (tid ")[2][:-1])
        elif by == "type":
            name = "" if name == "(unknown)" else name.removesuffix(" (given)")
        said[name] += part["amount"]["count" if is_count else "bytes"]
    assert said
    for name in {*sums, *said}:
        assert sums[name] == pytest.approx(said[name], rel=1e-6, abs=1e-3), (name, sums, said)


def test_several_processes(page, report, family):
    """The totals of relatives have the margins that follow from what they share."""
    it, said = page(family), report(family)
    total, families = Figure(), collections.Counter()
    weight = 0
    for i in it.profile["files"][0]["selected"]:
        rows, heaps = it.rows(i), it.counted(i)
        process = it.profile["processes"][it.snapshots[i]["process"]]
        before = families[process["sample_family"]]
        families[process["sample_family"]] += 1
        for row in range(rows.count):
            if rows.heap[row] in heaps:
                total.add(rows, row, "live", inherited=before)
                weight = max(weight, heaps[rows.heap[row]]["weight_bytes"] or 0)
    assert max(families.values()) >= 3, families
    descent = collections.Counter(it.profile["processes"][it.snapshots[i]["process"]]["descent_family"]
                                  for i in it.profile["files"][0]["selected"])
    below, above = total.margins(weight * max(descent.values()))
    live = said["totals"]["live"]
    assert total.sums["bytes"] == pytest.approx(live["bytes"], rel=1e-6)
    assert total.sums["bytes"] - below == pytest.approx(live["bytes_low"], rel=0.02)
    assert total.sums["bytes"] + above == pytest.approx(live["bytes_high"], rel=0.02)


def change_of(before, after, weights, is_count, is_cumulative):
    """The difference of two figures, its interval and its verdict, as docs/PAGE.md has them."""
    key = "count" if is_count else "bytes"
    a, b = before.sums[key], after.sums[key]
    d = b - a
    if is_cumulative:
        between = Figure()
        between.sums[key] = d
        between.sums[f"{key}_var"] = max(after.sums[f"{key}_var"] - before.sums[f"{key}_var"], 0)
        below, above = between.margins(weights[1], is_count)
        low, high = d - below, d + above
    else:
        early, late = before.margins(weights[0], is_count), after.margins(weights[1], is_count)
        low, high = d - math.hypot(late[0], early[1]), d + math.hypot(late[1], early[0])
    rounding = 1e-9 * (a + b)
    if abs(d) <= rounding:
        return d, low, high, "same"
    if low <= rounding and high >= -rounding:
        return d, low, high, "noise"
    return d, low, high, ("grew" if a > 0 else "new") if d > 0 else ("shrank" if b > 0 else "gone")


def stack_figures(it, snapshot, quantity):
    """A figure for each stack: by the names of its functions, the heap outermost as in `diff`."""
    rows, heaps, names = it.rows(snapshot), it.counted(snapshot), it.names()
    figures = collections.defaultdict(Figure)
    for row in range(rows.count):
        if rows.heap[row] in heaps:
            frames, node = [], rows.node[row]
            while node >= 0:
                frames.append(names[it.function[node]])
                node = it.parent[node]
            heap = it.profile["heaps"][rows.heap[row]]["name"]
            key = (*frames, *([] if heap == "libc.malloc" else [f"[heap {heap}]"]))
            figures[key].add(rows, row, quantity)
    return figures


@pytest.mark.parametrize("view", ["space", "objects", "alloc_space"])
def test_differences(page, heapscope, python, view):
    """Differences of two snapshots, and what is noise, follow from the rows."""
    quantity, is_count = VIEWS[view]
    it = page(python)
    process = len(it.profile["processes"]) - 1
    mine = [i for i, snapshot in enumerate(it.snapshots) if snapshot["process"] == process]
    first, last = mine[0], mine[len(mine) * 3 // 4]  # at the end, all is freed
    numbers = [it.snapshots[i]["number"] for i in (first, last)]
    pid = it.profile["processes"][process]["pid"]
    done = heapscope("diff", "--json", "--view", view, "--process", pid, f"{python}@{numbers[0]}", f"{python}@{numbers[1]}")
    assert done.returncode == 0, done.stderr
    said = {}
    for stack in json.loads(done.stdout)["stacks"]:
        key = tuple(stack["frames"])
        said[key] = None if key in said else stack  # two modules have a function of this name
    weights = [max(heap["weight_bytes"] or 0 for heap in it.counted(i).values()) for i in (first, last)]
    before, after = stack_figures(it, first, quantity), stack_figures(it, last, quantity)
    verdicts = collections.Counter()
    compared = 0
    for key in {*before, *after}:
        stack = said.get(key)
        if stack:
            compared += 1
            d, low, high, verdict = change_of(before[key], after[key], weights, is_count, quantity == "alloc")
            assert d == pytest.approx(stack["change"], rel=1e-6, abs=1e-3)
            assert low == pytest.approx(stack["low"], rel=0.02, abs=5) and high == pytest.approx(stack["high"], rel=0.02, abs=5)
            assert verdict == stack["verdict"], (key, stack, low, high)
            verdicts[verdict] += 1
    assert compared > 0.8 * len(said), (compared, len(said))
    # An allocation that is counted twice is no noise.
    assert (verdicts["noise"] or quantity == "alloc") and verdicts["grew"] + verdicts["new"], verdicts


@pytest.mark.costly
def test_two_files(page, python, family):
    """The page of two files has the snapshots of both, and one table of functions."""
    it, alone = page(python, family), page(python)
    assert [file["name"] for file in it.profile["files"]] == [str(python), str(family)]
    assert len(it.snapshots) > len(alone.snapshots)
    names = it.names()
    assert names.count("PyBytes_FromStringAndSize") <= 1 and len(names) > len(alone.names())
    for file, other in ((it.profile["files"][0], alone.profile["files"][0]),):
        for mine, its in zip(file["selected"], other["selected"]):
            for quantity in QUANTITIES:
                assert it.sum(mine, quantity, "bytes") == alone.sum(its, quantity, "bytes")
    assert {"report-0", "report-1"} <= it.documents.keys()


def test_focus_and_names(page, python):
    """Options that select stacks and shorten names hold for the page."""
    it = page(python, "--focus", "grow", "--short-names")
    assert it.profile["files"][0]["has_filters"]
    assert "answer" not in it.documents["report-0"]
    last = it.profile["files"][0]["selected"][-1]
    whole = page(python)
    assert 0 < it.sum(last, "alloc", "bytes") < 0.9 * whole.sum(last, "alloc", "bytes")


def test_hostile_names(page, dist, target, tmp_path):
    """A program's name that is markup stays text."""
    program = tmp_path / "<script>alert(1)<"
    shutil.copy(target("phases"), program)
    it = page(record(dist, tmp_path / "x.pftrace", program, options=("-i", 1)))
    assert "<title>&lt;script&gt;alert(1" in it.html and " - heapscope</title>" in it.html
    assert "<script>alert(1)" not in it.html and "heapscope-data" not in it.html
    assert it.profile["processes"][0]["exe"] == str(program)


def test_output(heapscope, python, tmp_path):
    """The page gets its name when it is whole; wrong usage is explained."""
    out = tmp_path / "page.html"
    out.write_text("old")
    done = heapscope("report", "--html", tmp_path / "missing.pftrace", "-o", out)
    assert done.returncode == 1 and out.read_text() == "old"
    for args, reason in ((("--html", "--json", python), "--json"), (("-o", out, python), "-o is for --html"),
                         ((python, python), "--html only"), (("--html", "--tree", python), "another form")):
        done = heapscope("report", *args)
        assert done.returncode == 2 and reason in done.stderr, done.stderr
    assert out.read_text() == "old"


def test_run(heapscope, tmp_path):
    """`run --html` writes the page beside the trace, and keeps the program's exit status."""
    done = heapscope("run", "--html", "-q", "-o", tmp_path / "x.pftrace", "--", "sh", "-c", "exit 3")
    if "was built without the page" in done.stderr:
        pytest.skip("heapscope was built without the page, because npm is missing")
    assert done.returncode == 3, done.stderr
    assert Page((tmp_path / "x.html").read_text()).profile["processes"]
    (tmp_path / "y.html").mkdir()
    done = heapscope("run", "--html", "-q", "-o", tmp_path / "y.pftrace", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3 and "cannot write" in done.stderr and (tmp_path / "y.pftrace").exists()
    done = heapscope("run", "--html", "-o", "-", "--", "true")
    assert done.returncode == 2 and "--html needs a file" in done.stderr
