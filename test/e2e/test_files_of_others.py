"""Files of other tools: they are read, and the result equals what their own tools say.

jemalloc and gperftools write real files here; jeprof and pprof's Perl ancestor are the
reference. Pprof profiles of other writers are encoded by protoc from text. Each file is written
in every format, and the sums are compared.
"""

import array
import base64
import fcntl
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import termios
import xml.etree.ElementTree as ElementTree

import browser
import pytest
from waiting import wait_for_state, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PPROF = ROOT / "src" / "profile" / "proto"
MAPS = "\nMAPPED_LIBRARIES:\n"


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module")
def jemalloc_file(target, tmp_path_factory):
    """The file that jemalloc writes at the end of test/target/views.c, sampled."""
    folder = tmp_path_factory.mktemp("jemalloc")
    conf = f"prof:true,prof_final:true,prof_accum:true,lg_prof_sample:10,prof_prefix:{folder}/je"
    env = {**os.environ, "MALLOC_CONF": conf, "LD_PRELOAD": "libjemalloc.so.2"}
    done = subprocess.run([target("views")], env=env, capture_output=True, text=True, check=True)
    files = list(folder.glob("*.heap"))
    if not files:
        pytest.skip("libjemalloc.so.2 has no profiling: " + done.stderr[:200])
    return files[0]


@pytest.fixture(scope="module")
def gperftools_file(target, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gperftools")
    env = {**os.environ, "HEAPPROFILE": f"{folder}/gp", "LD_PRELOAD": "libtcmalloc.so.4"}
    done = subprocess.run([target("views")], env=env, capture_output=True, text=True, check=True)
    files = sorted(folder.glob("gp*.heap"))
    if not files:
        pytest.skip("libtcmalloc.so.4 is not installed: " + done.stderr[:200])
    return files[-1]


def pprof(path, text, packed=True):
    """Encodes a pprof profile from its text form; strings are given as "st: ..." lines, "" first."""
    data = subprocess.run(["protoc", f"-I{PPROF}", "--encode=hs.pprof.PprofProfile", "pprof.proto"],
                          input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


def strings(*texts):
    return "".join(f"string_table: {json.dumps(t)}\n" for t in ("", *texts))


TABLES = """
mapping { id: 1 memory_start: 0x400000 memory_limit: 0x500000 file_offset: 0 filename: 9 build_id: 10 }
function { id: 7 name: 11 system_name: 11 filename: 12 }
function { id: 8 name: 13 system_name: 13 filename: 12 }
function { id: 9 name: 14 system_name: 14 filename: 12 }
location { id: 21 mapping_id: 1 address: 0x401010 line { function_id: 7 line: 5 } line { function_id: 8 line: 9 } }
location { id: 22 mapping_id: 1 address: 0x402020 line { function_id: 9 line: 30 } }
"""
GO = strings("alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "space", "main.go",
             "/opt/server", "Zq3-not-hexadecimal", "main.grow", "/src/main.go", "main.(*T).add", "main.main") + """
sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 }
sample_type { type: 5 unit: 2 } sample_type { type: 6 unit: 4 }
sample { location_id: [21, 22] value: [10, 10240, 4, 4096] label { key: 4 num: 1024 } }
sample { location_id: 22 value: [3, 600, 1, 200] }
period_type { type: 7 unit: 4 } period: 524288 time_nanos: 1700000000000000000 default_sample_type: 6
""" + TABLES
HEAPPROFD = strings("Total malloc count", "count", "Total malloc size", "bytes", "Unreleased malloc count",
                    "Unreleased malloc size", "x", "x", "/system/bin/d", "0011aabb", "malloc", "", "foo()", "main") + """
sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 }
sample_type { type: 5 unit: 2 } sample_type { type: 6 unit: 4 }
sample { location_id: [21, 22] value: [2, 8192, 1, 4096] }
mapping { id: 1 memory_start: 0x1000 memory_limit: 0x2000 filename: 9 build_id: 10 }
function { id: 7 name: 11 } function { id: 8 name: 13 } function { id: 9 name: 14 }
location { id: 21 mapping_id: 1 line { function_id: 7 } line { function_id: 8 } }
location { id: 22 mapping_id: 1 line { function_id: 9 } }
"""


def stacks_of(data):
    return {";".join(f.get("function") or "?" for f in reversed(s["frames"])): s for s in data["stacks"]}


# --- compared with the other tools' output --------------------------------------------------------------


@pytest.mark.costly
def test_jemalloc(report, target, jemalloc_file):
    need("jeprof")
    data = report(jemalloc_file, "--top", "all")
    for option, kind in (("--inuse_space", "live"), ("--alloc_space", "alloc")):
        done = subprocess.run(["jeprof", "--text", "--show_bytes", option, target("views"), jemalloc_file],
                              capture_output=True, text=True, check=True)
        total = int(re.search(r"Total: (\d+) B", done.stdout).group(1))
        # jeprof truncates the value of each stack to a whole number.
        assert math.isclose(data["totals"][kind]["bytes"], total, rel_tol=1e-3)
    assert data["is_sampled"]
    # Named by the program's own symbols, through the file's mappings.
    assert any(s.startswith("_start") or ";main;" in s for s in stacks_of(data))
    assert any("burst" in s for s in stacks_of(data))
    assert data["processes"][0]["name"].startswith("views")


@pytest.mark.costly
def test_gperftools(report, target, gperftools_file):
    need("google-pprof")
    data = report(gperftools_file, "--top", "all", "--view", "space")
    for option, kind in (("--inuse_space", "live"), ("--alloc_space", "alloc")):
        done = subprocess.run(["google-pprof", "--text", "--show_bytes", option, target("views"), gperftools_file],
                              capture_output=True, text=True, check=True)
        assert int(re.search(r"Total: (\d+) B", done.stdout).group(1)) == data["totals"][kind]["bytes"]
    assert not data["is_sampled"]
    own = {f["function"]: f for f in data["functions_by_self"]}
    assert own["parse"]["self"] == {"bytes": 60000, "count": 600}


# The output of `go tool pprof -top -nodefraction=0 -unit=B` of Go 1.19 for
# golden/go-1.19-heap.pb.gz.
GO_LIVE = {"main.buffers[...]": 20971520, "main.grow": 11074370, "runtime.malg": 8615, "runtime.gcBgMarkWorker": 4112}
GO_ALLOC = {"main.buffers[...]": 20971520, "main.grow": 14031682, "runtime.malg": 8615, "runtime.gcBgMarkWorker": 4112}


@pytest.mark.parametrize("form", ["pb", "txt"])
def test_go(report, form):
    """Both forms of one heap, of a real program."""
    file = pathlib.Path(__file__).parents[1] / f"golden/go-1.19-heap.{form}.gz"
    data = report(file, "--top", "all")
    for kind, expected in (("live", GO_LIVE), ("alloc", GO_ALLOC)):
        found = dict.fromkeys(expected, 0)
        for stack in data["stacks"]:
            found[stack["frames"][0]["function"]] += stack[kind]["bytes"]
        assert found == {name: pytest.approx(value, rel=1e-3) for name, value in expected.items()}
    assert round(data["totals"]["alloc"]["count"]) == pytest.approx(91156, abs=5)
    grow = next(s for s in data["stacks"] if s["frames"][0]["function"] == "main.grow")
    assert [f["function"] for f in grow["frames"]][-2:] == ["main.main", "runtime.main"]
    assert grow["frames"][0]["file"].endswith("/main.go") and grow["frames"][0]["line"] == 17
    assert not data["losses"]


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("kind", ["heap_v2/8192", "heap/8192", "heapprofile", "growthz/0", "heap_v2"])
def test_formula_of_each_kind(report, tmp_path, target, kind):
    """The same figures in every kind of text, and in the output of google-pprof."""
    need("google-pprof")
    rows = [(3, 3000, 5, 5000), (1, 100000, 1, 100000), (7, 56, 70, 560)]
    file = tmp_path / "x.heap"
    sums = [sum(row[i] for row in rows) for i in range(4)]
    file.write_text("heap profile: {}: {} [ {}: {}] @ ".format(*sums) + kind + "\n" + "".join(
        f"  {n}: {b} [ {an}: {ab}] @ 0x{0x1000 + i:x} 0x2001\n" for i, (n, b, an, ab) in enumerate(rows)) + MAPS)
    data = report(file)
    done = subprocess.run(["google-pprof", "--text", "--show_bytes", target("views"), file],
                          capture_output=True, text=True, check=True)
    total = int(re.search(r"Total: (\d+) B", done.stdout).group(1))
    assert abs(data["totals"]["live"]["bytes"] - total) <= len(rows) + 1


def test_symbols_of_jeprof_raw(report, tmp_path):
    file = tmp_path / "raw"
    file.write_text("--- symbol\nbinary=/opt/server\n0x0000000000001000 inner--outer\n0x0000000000002000 main\n---\n"
                    "--- heap\nheap_v2/1\n  t*: 1: 64 [2: 128]\n  t3: 1: 64 [2: 128] worker\n@ 0x1000 0x2001\n"
                    "  t*: 1: 64 [2: 128]\n  t3: 1: 64 [2: 128]\n")
    data = report(file, "--top", "all")
    assert stacks_of(data)["main;outer;inner"]["live"]["count"] == 1
    assert data["processes"][0]["name"] == "server"


# --- other tools' pprof files -------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [True, False])
def test_pprof_of_go(report, tmp_path, packed):
    data = report(pprof(tmp_path / "heap", GO, packed), "--top", "all")
    assert data["totals"]["live"] == {**data["totals"]["live"], "bytes": 4296, "count": 5}
    assert data["totals"]["alloc"]["bytes"] == 10840
    stack = stacks_of(data)["main.main;main.(*T).add;main.grow"]
    assert stack["live"]["bytes"] == 4096
    assert (stack["frames"][0]["file"], stack["frames"][0]["line"]) == ("/src/main.go", 5)
    assert data["is_sampled"]


def test_what_is_promised_of_others(heapscope, report, tmp_path, jemalloc_file):
    """Sampled figures are never called exact, and no 95 % interval is claimed where a stack may
    have mixed sizes."""
    go = pprof(tmp_path / "heap", GO, packed=False)
    for sampled in (go, jemalloc_file):
        head = " ".join(heapscope("report", sampled).stdout.split("Where did")[0].split())
        condition = "are 95 % confidence intervals only if all blocks of a stack have the same size"
        assert condition in head
        assert "95 %" not in head.replace(condition, "") and "exact" not in head
        data = report(sampled, "--top", "all")
        assert data["is_sampled"] and not data["is_exact"]
        live = data["totals"]["live"]
        interval = data["processes"][0]["interval_bytes"]
        assert live["bytes_high"] >= live["bytes"] + 3.84 * interval
    # The file does not say how it was sampled: there are no intervals, and it is not exact either.
    unknown = pprof(tmp_path / "unknown", HEAPPROFD, packed=False)
    assert "the sampling interval is not known" in heapscope("report", unknown).stdout
    data = report(unknown)
    assert not data["is_sampled"] and not data["is_exact"]
    sql = "SELECT live_bytes, live_bytes_low, live_bytes_high, live_count_high FROM heapscope_dumps"
    rows = json.loads(heapscope("query", "--format", "json", unknown, sql).stdout)
    assert list(rows[0].values()) == [4096, None, None, None]


def test_counts_of_samples(heapscope, report, tmp_path):
    """heapprofd's counts are numbers of samples: they are never called objects, and their margin is
    that of such a number."""
    file = pprof(tmp_path / "heap", HEAPPROFD + strings() + "period_type { type: 7 unit: 4 } period: 4096\n",
                 packed=False)
    text = heapscope("report", file).stdout
    assert "objects of" not in text and " 1 sample\n" in text
    live = report(file)["totals"]["live"]
    assert live["count"] == 1 and 5.5 < live["count_high"] < 6


def test_pprof_of_heapprofd(report, tmp_path):
    """Without addresses, inlined calls are separate frames, and names distinguish two calls of one
    place."""
    data = report(pprof(tmp_path / "heap_dump.1.17.libc.malloc.pb", HEAPPROFD, packed=False), "--top", "all")
    assert data["totals"]["live"]["bytes"] == 4096 and data["totals"]["alloc"]["bytes"] == 8192
    assert "main;foo();malloc" in stacks_of(data)


def test_pprof_with_labels_and_negative_values(report, tmp_path):
    text = strings("objects", "count", "space", "bytes", "pid", "heap", "arena", "f", "g") + """
        sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 }
        sample { location_id: 1 value: [2, 200] label { key: 5 num: 17 } label { key: 6 str: 7 } }
        sample { location_id: 2 value: [-1, -50] label { key: 5 num: 17 } }
        sample { location_id: 1 value: [1, 10] label { key: 5 num: 18 } }
        function { id: 1 name: 8 } function { id: 2 name: 9 }
        location { id: 1 line { function_id: 1 } } location { id: 2 line { function_id: 2 } }"""
    file = pprof(tmp_path / "x", text)
    data = report(file, "--top", "all")
    assert {p["pid"]: p["live"]["bytes"] for p in data["processes"]} == {17: 150, 18: 10}
    assert report(file, "--pid", "17")["totals"]["live"] == {"bytes": 150, "count": 1}


def difference(path, values):
    """A pprof file of main, which calls a function for each of the values."""
    text = strings("space", "bytes", "main", *(f"f{i}" for i in range(len(values)))) + """
        sample_type { type: 1 unit: 2 }
        function { id: 1 name: 3 } location { id: 1 line { function_id: 1 } }"""
    for i, value in enumerate(values):
        text += f"""
            function {{ id: {i + 2} name: {i + 4} }} location {{ id: {i + 2} line {{ function_id: {i + 2} }} }}
            sample {{ location_id: [{i + 2}, 1] value: {value} }}"""
    return pprof(path, text)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("values", [[3000, 2000, -4000], [7] * 25000 + [-175000], [7] * 25000 + [-200000]],
                         ids=["less", "zero", "negative"])
def test_flame_graph_of_a_difference(heapscope, tmp_path, values):
    """Of values with different signs, single ones are more than their sum. Boxes lie within their
    parents all the same, and drawing ends."""
    done = heapscope("export", "-f", "svg", difference(tmp_path / "x", values), timeout=60)
    assert done.returncode == 0, done.stderr
    groups = [g for g in ElementTree.fromstring(done.stdout).iter() if g.get("data-v")]
    boxes = [tuple(map(int, g.get("data-v").split())) for g in groups]
    assert len(boxes) == (4 if len(values) == 3 else 1)
    parents = {}
    for start, width, depth in boxes:
        parents[depth] = (start, start + width)
        left, right = parents.get(depth - 1, (0, 1000))
        assert left <= start and start + width <= right, boxes


def test_pprof_hostile_ids(report, tmp_path):
    text = strings("space", "bytes") + """
        sample_type { type: 1 unit: 2 }
        sample { location_id: [18446744073709551615, 5, 0] value: 7 }
        sample { location_id: 5 value: [1, 2, 3] }
        sample { value: 4 }
        location { id: 5 mapping_id: 99 address: 77 line { function_id: 1234 } }
        function { id: 6 name: -3 filename: 9223372036854775807 }"""
    data = report(pprof(tmp_path / "x", text), "--top", "all")
    assert data["totals"]["live"]["bytes"] == 12
    names = {loss["name"] for loss in data["losses"]}
    assert {"unresolved_stacks", "file_bad_records"} <= names


def test_pprof_of_something_else(heapscope, tmp_path):
    text = strings("samples", "count", "cpu", "nanoseconds") + """
        sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 } sample { value: [1, 10000000] }"""
    done = heapscope("report", pprof(tmp_path / "cpu.pprof", text))
    assert done.returncode == 1 and "not a heap profile: a pprof profile of cpu in nanoseconds" in done.stderr


# --- every format from every input --------------------------------------------------------------------


@pytest.fixture(params=["trace", "jemalloc", "gperftools", "go", "heapprofd", "folded"])
def any_input(request, heapscope, target, tmp_path):
    if request.param == "trace":
        file = tmp_path / "x.pftrace"
        done = heapscope("run", "-q", "-i", "4K", "-o", file, "--", target("views"))
        assert done.returncode == 0, done.stderr
        return file
    if request.param in ("jemalloc", "gperftools"):
        return request.getfixturevalue(request.param + "_file")
    if request.param == "folded":
        file = tmp_path / "x"
        file.write_text("main;load;parse 4096\nmain;load 12\nmain 1\n")
        return file
    return pprof(tmp_path / "x", {"go": GO, "heapprofd": HEAPPROFD}[request.param])


def massif_trees(text):
    """(bytes of the snapshot, bytes of its tree) of the detailed snapshots; children never exceed
    their parent."""
    found = []
    stack = []
    total = 0
    for line in text.splitlines():
        if line.startswith("mem_heap_B="):
            total = int(line.partition("=")[2])
        match = re.match(r"( *)n(\d+): (\d+) ", line)
        if match:
            depth, children, size = len(match[1]), int(match[2]), int(match[3])
            if depth == 0:
                found.append((total, size))
                stack = []
            del stack[depth:]
            if stack:
                stack[-1][0] -= 1
                stack[-1][1] -= size
                assert stack[-1][0] >= 0 and stack[-1][1] >= -2
            stack.append([children, size])
    return found


def test_every_format(heapscope, report, any_input, tmp_path):
    totals = report(any_input, "--view", "space")["totals"]["live"]

    def export(form, *options):
        done = heapscope("export", "-f", form, *options, any_input)
        assert done.returncode == 0, done.stderr
        return done.stdout

    folded = sum(int(line.rpartition(" ")[2]) for line in export("folded", "--view", "space").splitlines())
    assert abs(folded - totals["bytes"]) <= 1
    rows = [json.loads(line) for line in export("json").splitlines()]
    assert rows[0]["type"] == "profile" and rows[0]["format"] == 1
    stacks = [row for row in rows if row["type"] == "stack"]
    assert math.isclose(sum(row["live_bytes"] for row in stacks), totals["bytes"], rel_tol=1e-9, abs_tol=1)
    dumps = {row["dump"]: row for row in rows if row["type"] == "dump"}
    assert all(row["dump"] in dumps and row["frames"] for row in stacks)
    assert math.isclose(dumps[stacks[-1]["dump"]]["live_bytes"], totals["bytes"], rel_tol=1e-9)
    speedscope = json.loads(export("speedscope", "--view", "space"))
    assert math.isclose(speedscope["profiles"][0]["endValue"], totals["bytes"], rel_tol=1e-6, abs_tol=1)
    assert export("svg").startswith("<")
    trees = massif_trees(export("massif"))
    assert abs(trees[-1][0] - totals["bytes"]) <= 1 and abs(trees[-1][1] - totals["bytes"]) <= 1
    # And pprof, read again.
    out = tmp_path / "out.pb.gz"
    assert heapscope("export", "-q", "-o", out, any_input).returncode == 0
    assert abs(report(out, "--view", "space")["totals"]["live"]["bytes"] - totals["bytes"]) <= 1


def test_ms_print_draws_it(heapscope, target, tmp_path):
    need("ms_print")
    trace = tmp_path / "x.pftrace"
    done = heapscope("run", "-q", "-i", 1, "-o", trace, "--", target("views"))
    assert done.returncode == 0, done.stderr
    text = tmp_path / "x.massif"
    assert heapscope("export", "-q", "-o", text, trace).returncode == 0
    done = subprocess.run(["ms_print", text], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "(peak)" in done.stdout and "1,060,192B" in done.stdout  # live blocks and the burst at the same time
    assert re.search(r"\(60,000B\) 0x[0-9A-F]+: parse \(views\.c:\d+\)", done.stdout)
    assert re.search(r"->94\.3\d% \(1,000,000B\) 0x[0-9A-F]+: burst", done.stdout)


SUMS = """
const fs = require("fs"), zlib = require("zlib");
const p = require("pprof-format").Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[1])));
console.log(JSON.stringify(p.sample.reduce((a, s) => a.map((v, i) => v + Number(s.value[i])), p.sampleType.map(() => 0))));
"""


@pytest.mark.costly
def test_pprof_format_says_the_same(heapscope, report, any_input, tmp_path, node_modules):
    out = tmp_path / "out.pb.gz"
    assert heapscope("export", "-q", "-o", out, any_input).returncode == 0
    done = subprocess.run(["node", "-e", SUMS, out], cwd=node_modules, capture_output=True, text=True, check=True)
    sums = json.loads(done.stdout)
    totals = report(any_input)["totals"]
    want = [totals["alloc"]["count"], totals["alloc"]["bytes"], totals["live"]["count"], totals["live"]["bytes"]]
    assert all(abs(a - b) <= 1 for a, b in zip(sums, want)), (sums, want)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["x.speedscope.json", "x.pb.gz", "x.folded"])
def test_speedscope_imports_it(heapscope, tmp_path, node_modules, name):
    """The real viewer from the npm package, in a browser: its importer accepts the file and shows
    the functions."""
    if not browser.find():
        pytest.skip("no Chromium: speedscope cannot be run")
    out = tmp_path / name
    done = heapscope("export", "-q", "--view", "space", "-o", out, pprof(tmp_path / "in", GO))
    assert done.returncode == 0, done.stderr
    script = tmp_path / "load.js"
    encoded = base64.b64encode(out.read_bytes()).decode()
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(encoded)})")
    viewer = browser.Browser(tmp_path / "profile")
    try:
        page = node_modules / "node_modules" / "speedscope" / "dist" / "release" / "index.html"
        viewer.open(page, f"#localProfilePath={script}&view=sandwich")
        viewer.wait("document.body.innerText.includes('main.main') || document.body.innerText.includes('rror')")
        text = viewer.js("document.body.innerText")
    finally:
        viewer.close()
    assert "main.main" in text and "main.(*T).add" in text
    # For a pprof profile, it shows only the outermost of several inlined calls.
    assert ("main.grow" in text) == (name != "x.pb.gz")


# --- what cannot be read ------------------------------------------------------------------------------


@pytest.mark.parametrize("content, words", [
    (b"", "the file is empty"),
    (b"hello\n", "no pprof profile, no heap text of jemalloc or gperftools, no collapsed stacks"),
    (b"\x7fELF" + bytes(100), "a program or a core file"),
    (b"desc: --time-unit=ms\ncmd: x\n", "massif's output"),
    (b'{"$schema": 1}\n', "JSON"),
    (bytes(range(256)) * 40, "not a heap profile"),
])
def test_foreign_files(heapscope, tmp_path, content, words):
    file = tmp_path / "file"
    file.write_bytes(content)
    for command in (["report"], ["export", "-f", "json"]):
        done = heapscope(*command, file)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"heapscope: {file}: ") and words in done.stderr


def test_standard_input(heapscope, tmp_path):
    data = pprof(tmp_path / "x", GO).read_bytes()
    with open(tmp_path / "x", "rb") as file:
        done = heapscope("export", "-f", "folded", "-", stdin=file)
    assert done.returncode == 0 and "main.main;main.(*T).add;main.grow 4096" in done.stdout
    assert data


def test_damaged_files_say_so(report, tmp_path, jemalloc_file):
    text = jemalloc_file.read_text()
    cut = tmp_path / "cut.heap"
    cut.write_text(text[:text.index("MAPPED_LIBRARIES") - 20])
    data = report(cut)
    assert "file_truncated" in {loss["name"] for loss in data["losses"]} and data["totals"]["live"]["bytes"] > 0
    plain = pprof(tmp_path / "x", GO, packed=False).read_bytes()
    cut.write_bytes(plain[: len(plain) - 30])
    data = report(cut)
    assert "file_truncated" in {loss["name"] for loss in data["losses"]}
    assert data["totals"]["live"]["bytes"] == 4296


@pytest.mark.parametrize("form", ["massif", "json", "pprof"])
def test_full_disk(heapscope, tmp_path, form):
    file = tmp_path / "x"
    file.write_text("main;load;parse 4096\n")
    done = heapscope("export", "-f", form, "-o", "/dev/full", file)
    assert done.returncode == 1 and "No space left on device" in done.stderr


@pytest.mark.costly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_sqlite_writes(dist, root, tmp_path, number):
    """Its file has a temporary name, which is deleted too."""
    trace, folder = tmp_path / "x", tmp_path / "out"
    folder.mkdir()
    subprocess.run([sys.executable, root / "bench" / "sql_trace.py", trace, "200000", "20"], check=True, timeout=120)
    with subprocess.Popen([dist / "bin" / "heapscope", "export", "-o", folder / "x.sqlite", trace],
                          stderr=subprocess.PIPE) as process:
        wait_until(lambda: list(folder.iterdir()) or process.poll() is not None, "no file comes", 60, every_s=0.001)
        process.send_signal(number)
        process.wait(timeout=60)
        assert process.returncode == -number
    assert list(folder.iterdir()) == []


def test_interrupted_export_leaves_nothing(dist, tmp_path):
    """The user interrupts after half of the input: no output file is left."""
    out = tmp_path / "out.json"
    with subprocess.Popen([dist / "bin" / "heapscope", "export", "-f", "json", "-o", out, "-"],
                          stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"main;load 1\n" * 100)
        process.stdin.flush()
        unread = array.array("i", [1])
        wait_until(lambda: fcntl.ioctl(process.stdin, termios.FIONREAD, unread) == 0 and unread[0] == 0, "it does not read")
        wait_for_state(process.pid, "S")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        process.stdin.close()
        assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []
