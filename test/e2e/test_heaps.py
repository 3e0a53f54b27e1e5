"""Processes with several heaps: views say which heaps a figure contains, and count no memory twice."""

import gzip
import json

import pytest
import trace_text
from test_sql_conformance import CLOCKS, INTERNED, profile, sample
from test_sql_questions import QUESTIONS

WORDS = "2 heaps are added up: libc.malloc (10.0 KiB allocated), pool (2.00 KiB)"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    file = tmp_path_factory.mktemp("heaps") / "x.pftrace"
    text = (CLOCKS + INTERNED + profile(0, sample(1, 10240, 2), more="sampling_interval_bytes: 1")
            + profile(1, sample(1, 2048, 1), heap='heap_name: "pool"', time=21, more="sampling_interval_bytes: 1"))
    file.write_bytes(trace_text.protoc("encode", text.encode()))
    return file


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    file = tmp_path_factory.mktemp("heaps") / "y.pftrace"
    file.write_bytes(trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 10240, 2))).encode()))
    return file


def words(text):
    return " ".join(text.split())


def test_report(heapscope, report, two, one):
    assert WORDS in words(heapscope("report", two).stdout)
    heaps = {heap["name"]: heap["live"]["bytes"] for heap in report(two)["heaps"]}
    assert heaps == {"libc.malloc": 10240, "pool": 2048}
    assert "added up" not in heapscope("report", one).stdout
    assert [heap["name"] for heap in report(one)["heaps"]] == ["libc.malloc"]


@pytest.mark.parametrize("form", ["folded", "svg", "speedscope"])
def test_exports(heapscope, two, one, form):
    done = heapscope("export", "-f", form, two)
    assert WORDS in words(done.stdout + done.stderr)
    done = heapscope("export", "-f", form, one)
    assert "heaps are added up" not in done.stdout + done.stderr


def test_pprof_keeps_them_apart(heapscope, two, tmp_path):
    done = heapscope("profile", "--output-dir", tmp_path, two)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*libc.malloc*"))) == 1 and len(list(tmp_path.glob("*pool*"))) == 1


def test_diff_and_check(heapscope, two, one):
    assert WORDS in words(heapscope("diff", one, two).stdout)
    checked = heapscope("check", "--max-live", "1MB", two)
    assert checked.returncode == 0 and WORDS in words(checked.stdout)
    assert json.loads(heapscope("check", "--json", "--max-live", "1MB", two).stdout)["files"][0]["note"] == WORDS


# --- heaps of all kinds: test/unit/heaps_fixture.h --------------------------------------------------------------------

ADDED = "2 heaps are added up: libc.malloc (195 KiB allocated), gpu (293 KiB)"
INSIDE = "pool (58.6 KiB), slab/inner (9.77 KiB), lost pool (4.88 KiB) lie inside and are not added"
POOL = ("only the heap pool (58.6 KiB allocated) is counted; slab/inner (9.77 KiB) lies inside and is not added; "
        "left out: libc.malloc (195 KiB), lost pool (4.88 KiB), gpu (293 KiB)")
KINDS = {"libc.malloc": 100000, "gpu": 300000, "pool": 40000, "slab/inner": 10000, "lost pool": 5000}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    file = tmp_path_factory.mktemp("kinds") / "k.pftrace"
    trace_text.write("heaps", file)
    return file


def live(report, file, *args):
    return report(file, *args)["totals"]["live"]["bytes"]


def test_totals_are_of_primary_heaps(heapscope, report, kinds):
    text = words(heapscope("report", kinds).stdout)
    assert ADDED + "; " + INSIDE in text
    assert "Heaps share: of what is live, or of the heap that it lies in" in text
    assert "40.0 % 40 exact pool, in libc.malloc" in text and "25.0 % 10 exact slab/inner, in pool" in text
    assert "1.2 % 5 exact lost pool, in an unknown heap; counts are numbers of samples" in text
    assert "75.0 % 300 64.0 KiB gpu" in text and "idle" not in text
    assert "from 6 samples at a mean interval of 64.0 KiB (libc.malloc: exact)" in text
    whole = report(kinds)
    assert whole["totals"]["live"]["bytes"] == 400000 and whole["totals"]["peak"]["bytes"] == 350000
    heaps = {heap["name"]: heap for heap in whole["heaps"]}
    assert {name: heap["live"]["bytes"] for name, heap in heaps.items()} == KINDS
    assert [name for name, heap in heaps.items() if heap["is_counted"]] == ["libc.malloc", "gpu"]
    assert [name for name, heap in heaps.items() if heap["is_carved"]] == ["pool", "slab/inner", "lost pool"]
    assert heaps["slab/inner"]["parent"] == "pool" and heaps["slab/inner"]["share_of_parent"] == 0.25
    assert "parent" not in heaps["lost pool"] and heaps["lost pool"]["share_of_parent"] == 5000 / 400000
    assert heaps["lost pool"]["has_own_samples"] and heaps["gpu"]["interval_bytes"] == 65536
    assert heaps["pool"]["peak"]["bytes"] == 50000


@pytest.mark.parametrize("args, expected", [
    (["*"], 400000), (["pool"], 40000), (["pool,gpu"], 340000), (["pool", "gpu"], 340000), (["libc.*"], 100000),
    (["pool,slab/*"], 40000), (["libc.malloc,lost pool"], 100000), (["slab/inner"], 10000), (["idle"], 0), (["p?ol"], 40000),
    (["*pool"], 45000)])
def test_choice(report, kinds, args, expected):
    args = [word for name in args for word in ("--heap", name)]
    chosen = report(kinds, *args)
    assert chosen["totals"]["live"]["bytes"] == expected
    assert sum(heap["live"]["bytes"] for heap in chosen["heaps"] if heap["is_counted"]) == expected
    assert sum(stack["live"]["bytes"] for stack in chosen["stacks"]) == expected
    assert len(chosen["heaps"]) == len(KINDS)


def test_words_of_a_choice(heapscope, report, kinds):
    text = words(heapscope("report", "--heap", "pool", kinds).stdout)
    assert POOL in text and "exact: all 60 allocations in the heaps that are counted were recorded" in text
    assert "4 left out" not in text and "gpu, left out" in text
    assert "its peaks" not in text
    text = words(heapscope("report", "--view", "peak", "--heap", "pool,lost pool", kinds).stdout)
    assert "; carved heaps have their peaks at times of their own" in text
    assert "nothing was allocated in the heaps that are counted" in words(heapscope("report", "--heap", "idle", kinds).stdout)
    assert report(kinds, "--heap", "gpu")["totals"]["live"]["bytes"] == 300000
    assert "at a mean interval of 64.0 KiB" in words(heapscope("report", "--heap", "gpu", kinds).stdout)


def test_two_heaps_of_heapprofd(heapscope, report, two):
    """Where a file does not say what its heaps are, all are primary."""
    assert live(report, two) == 12288 and live(report, two, "--heap", "pool") == 2048
    assert live(report, two, "--heap", "*") == 12288 and not any(heap["is_carved"] for heap in report(two)["heaps"])
    text = words(heapscope("report", "--tree", "--heap", "pool", two).stdout)
    assert "only the heap pool (2.00 KiB allocated) is counted; left out: libc.malloc (10.0 KiB)" in text


def test_many_heaps(heapscope, report, tmp_path):
    file = tmp_path / "many.pftrace"
    text = CLOCKS + INTERNED + "".join(
        profile(i, sample(1, 1000 + i, 1), heap=f'heap_name: "h{i}"', time=20 + i, more="sampling_interval_bytes: 1") for i in range(300))
    file.write_bytes(trace_text.protoc("encode", text.encode()))
    text = words(heapscope("report", file).stdout)
    assert "300 heaps are added up: h291 (1.26 KiB allocated), h292 (1.26 KiB)," in text and "h299 (1.27 KiB) and 291 smaller ones" in text
    assert "; the largest 20 of 300" in text and "exact h280" in text and "exact h279" not in text
    assert "exact h279" in words(heapscope("report", "--top", "all", file).stdout)
    assert len(report(file)["heaps"]) == 300 and live(report, file) == sum(range(1000, 1300))
    assert live(report, file, "--heap", "h29?,h1") == sum(range(1290, 1300)) + 1001
    done = heapscope("report", "--heap", "nope", file)
    assert "there are h0, h1, h2" in done.stderr and "h31 and 268 more" in done.stderr


def test_each_heap_has_its_interval(report, tmp_path):
    file = tmp_path / "intervals.pftrace"
    text = (CLOCKS + INTERNED + profile(0, sample(1, 10240, 2), more="sampling_interval_bytes: 1")
            + profile(1, sample(1, 204800, 3), heap='heap_name: "pool"', time=21, more="sampling_interval_bytes: 65536"))
    file.write_bytes(trace_text.protoc("encode", text.encode()))
    heaps = {heap["name"]: heap for heap in report(file)["heaps"]}
    assert heaps["libc.malloc"]["interval_bytes"] == 1 and heaps["pool"]["interval_bytes"] == 65536
    assert "low" not in json.dumps(heaps["libc.malloc"]["live"]) and "low" in json.dumps(heaps["pool"]["live"])


def test_unknown_heap(heapscope, kinds, two, one):
    message = f"heapscope: {kinds}: there is no heap 'nope'; there are libc.malloc, pool, slab/inner, lost pool, gpu and idle\n"
    for command in (["report"], ["report", "--tree"], ["export", "-f", "folded"], ["export", "-f", "svg"], ["export", "-f", "json"],
                    ["check", "--max-live", "1G"]):
        done = heapscope(*command, "--heap", "pool,nope", kinds)
        assert done.returncode == (3 if command[0] == "check" else 1) and done.stderr == message, command
    done = heapscope("report", "--heap", "nope", one)
    assert done.returncode == 1 and "there is no heap 'nope'; the only heap is libc.malloc" in done.stderr
    assert "there is no heap '(no name)'" in heapscope("report", "--heap", "pool,", kinds).stderr
    # In a comparison, a heap may be new, or gone.
    assert heapscope("diff", "--heap", "pool", one, two).returncode == 0
    assert heapscope("diff", "--heap", "pool", two, one).returncode == 0
    done = heapscope("diff", "--heap", "nope", one, two)
    assert done.returncode == 1 and "there is no heap 'nope'" in done.stderr


def folded(heapscope, file, *args):
    lines = heapscope("export", "-f", "folded", "-q", *args, file).stdout.splitlines()
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}


def test_folded(heapscope, kinds):
    stacks = folded(heapscope, kinds)
    assert sum(stacks.values()) == 400000 and any(stack.startswith("[heap gpu];") for stack in stacks)
    assert not any("pool" in stack for stack in stacks)
    stacks = folded(heapscope, kinds, "--heap", "pool")
    assert list(stacks.values()) == [40000] and next(iter(stacks)).startswith("[heap pool];")
    assert POOL in words(heapscope("export", "-f", "folded", "--heap", "pool", kinds).stderr)


@pytest.mark.parametrize("form", ["svg", "speedscope", "massif"])
def test_pictures_say_their_heaps(heapscope, kinds, form):
    done = words(heapscope("export", "-f", form, kinds).stdout)
    assert ADDED in done and INSIDE in done
    assert POOL in words(heapscope("export", "-f", form, "--heap", "pool", kinds).stdout)


def test_json_lines(heapscope, kinds):
    def lines(*args):
        return [json.loads(line) for line in heapscope("export", "-f", "json", *args, kinds).stdout.splitlines()]
    heaps = {line["heap"]: line for line in lines() if line["type"] == "heap"}
    assert {name: heap["live_bytes"] for name, heap in heaps.items()} == {**KINDS, "idle": 0}
    assert heaps["pool"]["parent"] == "libc.malloc" and heaps["pool"]["is_carved"] and not heaps["pool"]["is_counted"]
    assert heaps["gpu"]["interval_bytes"] == 65536 and heaps["lost pool"]["has_own_samples"]
    assert heaps["pool"]["peak_time_ns"] == heaps["gpu"]["peak_time_ns"] - 100
    assert sum(line["live_bytes"] for line in lines() if line["type"] == "stack") == 400000
    chosen = lines("--heap", "pool")
    assert [line["heap"] for line in chosen if line["type"] == "stack"] == ["pool"]
    assert next(line["live_bytes"] for line in chosen if line["type"] == "dump") == 40000


def test_sql(heapscope, kinds):
    def rows(sql):
        return json.loads(heapscope("query", "--format", "json", kinds, sql).stdout)
    heaps = {row["heap_name"]: row for row in rows("SELECT * FROM heapscope_heaps")}
    assert {name: heap["live_bytes"] for name, heap in heaps.items()} == {**KINDS, "idle": 0}
    assert heaps["slab/inner"]["parent_name"] == "pool" and heaps["slab/inner"]["is_carved"] == 1
    assert heaps["gpu"]["parent_name"] is None and heaps["gpu"]["interval_bytes"] == 65536
    assert heaps["lost pool"]["has_own_samples"] == 1 and heaps["gpu"]["live_bytes_high"] > 300000
    assert rows("SELECT SUM(live_bytes) AS n FROM heapscope_samples WHERE NOT is_carved") == [{"n": 400000}]
    assert rows("SELECT heap_name AS h, SUM(live_bytes) AS n FROM heapscope_samples WHERE is_carved GROUP BY 1 ORDER BY 1") == [
        {"h": "lost pool", "n": 5000}, {"h": "pool", "n": 40000}, {"h": "slab/inner", "n": 10000}]
    assert rows("SELECT live_bytes AS n FROM heapscope_dumps") == [{"n": 400000}]
    # Perfetto's tables have each heap, as heapprofd would write it.
    live_by_heap = {row["heap_name"]: row["n"] for row in
                    rows("SELECT heap_name, SUM(size) AS n FROM heap_profile_allocation GROUP BY 1")}
    assert live_by_heap == KINDS
    full = {row["heap_name"]: row["percent_of_parent"] for row in rows(QUESTIONS["How full are the heaps that lie inside others?"])}
    assert full == {"pool": 40, "slab/inner": 25, "lost pool": None}
    # The questions of SQL.md count no memory twice.
    assert sum(row["percent"] for row in rows(QUESTIONS["Who holds the peak?"])) == pytest.approx(100)
    assert sum(row["leaked_bytes"] for row in rows(QUESTIONS["What was never freed, by program and library?"])) == 400000


TABLES_OF_HEAPS = ("heap_profile_allocation", "heap_profile", "heapscope_samples", "heapscope_heaps")


@pytest.mark.parametrize("name, expected, live", [
    ("pool", {"pool"}, 40000), ("pool,slab/*", {"pool", "slab/inner"}, 40000), ("*", set(KINDS), 400000),
    ("libc.malloc,lost pool", {"libc.malloc", "lost pool"}, 100000)])
def test_sql_of_some_heaps(heapscope, kinds, name, expected, live):
    """Each table has only the chosen heaps; what they add up to is what the report says."""
    def rows(sql):
        done = heapscope("query", "--format", "json", "--heap", name, kinds, sql)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    for table in TABLES_OF_HEAPS:
        assert {row["heap_name"] for row in rows(f"SELECT heap_name FROM {table}")} - {"idle"} == expected, table
    assert rows("SELECT heap_name AS h, SUM(size) AS n FROM heap_profile_allocation GROUP BY 1 ORDER BY 1") == [
        {"h": heap, "n": KINDS[heap]} for heap in sorted(expected)]
    assert rows("SELECT live_bytes AS n FROM heapscope_dumps") == [{"n": live}]
    assert rows("SELECT SUM(live_bytes) AS n FROM heapscope_samples WHERE is_counted") == [{"n": live}]
    assert sum(row["percent"] for row in rows(QUESTIONS["Who holds the peak?"])) == pytest.approx(100)
    # A function over the tables, and one query that reads both kinds of tables.
    flame = rows("SELECT cumulative_size AS n FROM experimental_flamegraph('native', (SELECT MAX(ts) FROM heap_profile_allocation), "
                 "NULL, (SELECT MAX(upid) FROM heap_profile_allocation), NULL, NULL) WHERE depth = 0")
    assert sum(row["n"] for row in flame) == sum(KINDS[heap] for heap in expected)
    assert {row["n"] for row in rows("SELECT live_bytes AS n FROM heapscope_threads")} <= ({None} if name != "*" else {0, 400000})
    assert rows("SELECT is_carved AS c FROM heapscope_heaps WHERE heap_name = 'pool'") in ([{"c": 1}], [])


def test_sql_of_other_files(heapscope, kinds, two, one, tmp_path):
    """Traces of other recorders, pprof files, SQL that comes later, and a name that no heap has."""
    sums = "SELECT heap_name AS h, SUM(size) AS n FROM heap_profile_allocation GROUP BY 1"
    for file, heap, live in ((two, "po*", 2048), (two, "libc.malloc", 10240)):
        for text, args in ((None, [sums]), (sums, [])):
            done = heapscope("query", "--format", "json", "--heap", heap, file, *args, input=text)
            assert [row["n"] for row in json.loads(done.stdout)] == [live], done.stderr
        done = heapscope("query", "--format", "json", "--heap", heap, file, input="SELECT live_bytes AS n FROM heapscope_dumps")
        assert json.loads(done.stdout) == [{"n": live}]
    out = tmp_path / "x.pb.gz"
    assert heapscope("export", "-o", out, kinds).returncode == 0
    for table in TABLES_OF_HEAPS:
        done = heapscope("query", "--format", "json", "--heap", "gpu", out, f"SELECT DISTINCT heap_name AS h FROM {table}")
        assert json.loads(done.stdout) == [{"h": "gpu"}], table
    done = heapscope("query", "--format", "json", "--heap", "gpu", out,
                     "SELECT MAX(n) AS n FROM (SELECT SUM(value) AS n FROM __intrinsic_aggregate_sample GROUP BY aggregate_profile_id)")
    assert json.loads(done.stdout) == [{"n": 300000}]
    message = "there is no heap 'nope'; there are libc.malloc and pool\n"
    for sql in (["SELECT 1"], ["SELECT * FROM heapscope_dumps"], []):
        done = heapscope("query", "--heap", "pool,nope", two, *sql, input="" if not sql else None)
        assert done.returncode == 1 and done.stderr == f"heapscope: {two}: {message}" and done.stdout == "", sql
    done = heapscope("export", "-o", tmp_path / "x.db", "--heap", "nope", one)
    assert done.returncode == 1 and "there is no heap 'nope'; the only heap is libc.malloc" in done.stderr


def test_pprof(heapscope, report, kinds, tmp_path):
    out = tmp_path / "x.pb.gz"
    assert heapscope("export", "-o", out, kinds).returncode == 0
    heaps = {heap["name"]: heap["live"]["bytes"] for heap in report(out)["heaps"]}
    assert heaps == {"libc.malloc": 100000, "gpu": 300000}
    assert ADDED.encode() in gzip.decompress(out.read_bytes())
    assert heapscope("export", "-o", out, "--heap", "pool", kinds).returncode == 0
    assert {heap["name"]: heap["live"]["bytes"] for heap in report(out)["heaps"]} == {"pool": 40000}
    # One file for each heap, whichever it is.
    folder = tmp_path / "files"
    assert heapscope("profile", "--output-dir", folder, kinds).returncode == 0
    totals = {file.name.split(".100.")[1].removesuffix(".pb"): live(report, file) for file in folder.iterdir()}
    assert totals == {name.replace("/", "_").replace(" ", "_"): size for name, size in KINDS.items()}


def test_files_of_some_heaps(heapscope, kinds, two, tmp_path):
    def files(name, file=kinds, status=0):
        folder = tmp_path / f"{name.replace('/', '_')} {file.stem}"
        done = heapscope("profile", "--heap", name, "--output-dir", folder, file)
        assert done.returncode == status, done.stderr
        return done.stderr if status else {path.name.split(".", 3)[3].removesuffix(".pb") for path in folder.iterdir()}
    assert files("pool,slab/*") == {"pool", "slab_inner"} and files("*") == {name.replace("/", "_").replace(" ", "_") for name in KINDS}
    assert files("po*", two) == {"pool"}
    assert "nothing was allocated in the heaps" in files("idle", status=1)
    assert files("pool,nope", two, status=1) == f"heapscope: {two}: there is no heap 'nope'; there are libc.malloc and pool\n"


def test_diff(heapscope, kinds, two, tmp_path):
    text = words(heapscope("diff", two, kinds).stdout)
    assert ADDED + "; " + INSIDE in text and WORDS in text
    change = json.loads(heapscope("diff", "--json", "--heap", "pool", two, kinds).stdout)
    assert change["total"]["before"] == 2048 and change["total"]["after"] == 40000
    text = words(heapscope("report", "--base", two, "--heap", "pool", kinds).stdout)
    assert POOL in text and "only the heap pool (2.00 KiB allocated) is counted; left out: libc.malloc" in text
    done = heapscope("export", "-f", "folded", "--base", two, "--heap", "pool", kinds)
    assert all(line.startswith("[heap pool];") for line in done.stdout.splitlines())
    assert POOL in words(heapscope("export", "-f", "svg", "--base", two, "--heap", "pool", kinds).stdout)


def test_check(heapscope, kinds, one, tmp_path):
    def status(*args):
        return heapscope("check", *args, kinds).returncode
    assert status("--max-live", "800K") == 0 and status("--max-live", "200K") == 1
    assert status("--heap", "pool", "--max-live", "40000") == 0 and status("--heap", "pool", "--max-live", "39999") == 1
    assert status("--heap", "pool", "--max-peak", "50010") == 0 and status("--heap", "pool", "--max-peak", "49999") == 1
    assert status("--heap", "pool", "--max-leak", "40000") == 0 and status("--heap", "pool", "--max-leak", "39999") == 1
    assert status("--heap", "pool", "--max-allocs", "60") == 0 and status("--heap", "pool", "--max-allocs", "59") == 1
    # A heap that is not in the base has grown from nothing.
    assert status("--heap", "pool", "--against", one, "--max-growth", "40000") == 0
    assert status("--heap", "pool", "--against", one, "--max-growth", "39999") == 1
    junit = tmp_path / "junit.xml"
    done = heapscope("check", "--max-live", "1G", "--heap", "pool", "--junit", junit, kinds)
    assert POOL in words(done.stdout) and POOL in words(junit.read_text())


def test_heaps_in_a_file_of_limits(heapscope, kinds, tmp_path):
    limits = tmp_path / "memory.limits"
    def check(text, *args):
        limits.write_text(text)
        return heapscope("check", "--limits", limits, *args, kinds)
    assert check("heap pool\nmax-live 40000\n").returncode == 0 and check("max-live 39999\nheap pool\n").returncode == 1
    assert check("heap pool\nheap g*\nmax-live 1G\n").stdout.count("are added up: pool (58.6 KiB allocated), gpu (293 KiB)") == 1
    # The command line's heaps replace them.
    assert check("heap pool\nmax-live 40000\n", "--heap", "gpu").returncode == 1
    done = check("heap pool, nope\nmax-live 1G\n")
    assert done.returncode == 3 and "there is no heap ' nope'; there are libc.malloc" in done.stderr


def test_a_database_of_some_heaps(heapscope, kinds, tmp_path):
    database = tmp_path / "x.db"
    assert heapscope("export", "-o", database, "--heap", "pool,slab/*", kinds).returncode == 0
    rows = json.loads(heapscope("query", "--format", "json", database, "SELECT heap_name AS h, SUM(size) AS n "
                                "FROM heap_profile_allocation GROUP BY 1").stdout)
    assert {row["h"]: row["n"] for row in rows} == {"pool": 40000, "slab/inner": 10000}
    done = heapscope("export", "-o", database, "--heap", "pool", "--pid", "100", kinds)
    assert done.returncode == 2 and "leave out --pid, --snapshot and --view" in done.stderr
    # Its tables stay as they are.
    done = heapscope("query", "--heap", "pool", database, "SELECT 1")
    assert done.returncode == 1 and f"{database} is a database, whose tables stay as they are" in done.stderr


def test_heaps_that_a_program_registers(run, target, dist, heapscope):
    """All the way from heapscope.h: each heap as the program counts it, and none of them twice."""
    lib = dist / "lib"
    done = run([target("api_heaps", "-I", str(dist / "include"), "-L", str(lib), "-lheapscope", f"-Wl,-rpath,{lib}")], "-i", 1)
    assert done.status == 0, done.stderr
    truth = {name: tuple(map(int, figures)) for name, *figures in map(str.split, done.stdout.splitlines()[:-1])}
    whole = done.report()
    heaps = {heap["name"]: heap for heap in whole["heaps"]}
    assert heaps.keys() == truth.keys() | {"libc.malloc"} and whole["is_exact"]
    for name, figures in truth.items():
        heap = heaps[name]
        assert (heap["live"]["bytes"], heap["live"]["count"], heap["alloc"]["bytes"], heap["alloc"]["count"]) == figures, name
        assert heap["is_carved"] and not heap["is_counted"] and heap["live"]["bytes"] <= heap["peak"]["bytes"] <= heap["alloc"]["bytes"]
    assert heaps["inner"]["parent"] == "outer" and heaps["libc.malloc"]["is_counted"]
    assert whole["totals"]["live"] == heaps["libc.malloc"]["live"] and whole["totals"]["peak"] == heaps["libc.malloc"]["peak"]
    live_bytes = truth["slab"][0]
    assert heapscope("check", "--heap", "slab", "--max-live", live_bytes, done.file).returncode == 0
    assert heapscope("check", "--heap", "slab", "--max-live", live_bytes - 1, done.file).returncode == 1
    stacks = folded(heapscope, done.file, "--heap", "slab", "--view", "alloc_space")
    assert sum(stacks.values()) == truth["slab"][2] and all(stack.startswith("[heap slab];") for stack in stacks)
