"""heapscope export --format memory-infra: traces for chrome://tracing, read by a reader that is as strict as Chrome's."""

import copy
import json
import shutil
import subprocess

import infra_checker
import pytest
from running_types import style_sheets, types_of
from waiting import let_time_pass, wait_until

LIVE = {"size": 600 * 100 + 3 * 64, "count": 603}


@pytest.fixture(scope="module")
def views(heapscope, target, tmp_path_factory):
    file = tmp_path_factory.mktemp("infra") / "views.pftrace"
    assert heapscope("run", "-q", "-i", 1, "-o", file, "--", target("views")).returncode == 0
    return file


@pytest.fixture
def export(heapscope, tmp_path):
    def call(file, *options, name="x.memory-infra.json"):
        done = heapscope("export", "-q", *options, "-o", tmp_path / name, file)
        assert done.returncode == 0, done.stderr
        return tmp_path / name

    return call


def totals(rows):
    return {key: pytest.approx(sum(row[key] for row in rows)) for key in ("size", "count")}


def test_figures_of_each_stack(export, views):
    trace = infra_checker.read(export(views))
    (process,) = trace.processes.values()
    (_, _, heaps), = process.dumps
    assert totals(heaps["malloc"]) == LIVE
    by_end = {}
    for row in heaps["malloc"]:
        by_end[row["stack"][-1]] = by_end.get(row["stack"][-1], 0) + row["size"]
    # Values are of the stack itself: callers have nothing of what their callees allocate.
    assert by_end == {"parse": 60000, "fib": 192}
    recursive = [row["stack"][-3:] for row in heaps["malloc"] if row["stack"][-1] == "fib"]
    assert ("fib", "fib", "fib") in recursive
    assert trace.names[next(iter(trace.processes))].startswith("views")
    allocated = infra_checker.read(export(views, "--view", "alloc_space"))
    (_, _, heaps), = next(iter(allocated.processes.values())).dumps
    assert totals(heaps["malloc"])["count"] == 1013


def test_name_and_format(heapscope, export, views, tmp_path):
    plain, packed = export(views), export(views, name="x.memory-infra.json.gz")
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    assert infra_checker.load(packed) == infra_checker.load(plain)
    given = export(views, "--format", "memory-infra", name="other.json")
    assert given.read_bytes() == plain.read_bytes()
    done = heapscope("export", "-f", "memory-infra", views)
    assert done.stdout.encode() == plain.read_bytes()
    # An explicit format wins over the name.
    assert export(views, "-f", "json").read_text().startswith('{"type":"profile"')


def test_long_tail(heapscope, export, views):
    whole = infra_checker.read(export(views))
    short = infra_checker.read(export(views, "--other-below", "100,2", name="short.memory-infra.json"))
    (before,), (after,) = ([p.dumps[0][2]["malloc"] for p in t.processes.values()] for t in (whole, short))
    assert totals(after) == LIVE == totals(before)
    small = [row for row in before if row["size"] < 100 and row["count"] < 2]
    (other,) = [row for row in after if row["stack"] == ("<other>", "[3 small stacks]")]
    assert len(small) == 3 and {key: other[key] for key in LIVE} == totals(small)
    for wrong in ("100", "100,", "x,2", "0,2", "100,0", "100,2,3"):
        done = heapscope("export", "-f", "memory-infra", "--other-below", wrong, views)
        assert done.returncode == 2 and "SIZE,COUNT" in done.stderr


PROGRAM = """
    #include <stdlib.h>
    #include <unistd.h>
    #include <sys/wait.h>
    static __attribute__((noinline)) void *hidden(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
    int main(int argc, char **argv) {
        hidden(5000);
        if (argc > 1) {
            argv[1][0]--;
            if (fork() == 0)
                execl("/proc/self/exe", argv[0], argv[1][0] > '0' ? argv[1] : NULL, NULL);
            wait(NULL);
        }
        return 0;
    }"""


def test_addresses_of_each_process(heapscope, export, tmp_path):
    """Three processes of one program that the loader puts elsewhere each time, and that has no names."""
    (tmp_path / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-pie", "-fPIE", "-s", "-o", tmp_path / "my prog", tmp_path / "p.c"], check=True)
    file = tmp_path / "x.pftrace"
    assert heapscope("run", "-q", "-i", 1, "-o", file, "--", tmp_path / "my prog", "2").returncode == 0
    # Without the file there are no names at all.
    trace = infra_checker.read(export(file))
    places, pcs = [], []
    for process in trace.processes.values():
        rows = [row for _, _, heaps in process.dumps for row in heaps["malloc"] if row["size"] == 5000]
        names = [name for name in rows[0]["stack"] if name.startswith("pc:")]
        resolved = [process.module(name) for name in names]
        own = [place for place in resolved if place[0].endswith("/my prog")]
        assert len(own) >= 2
        places.append(own)
        pcs.append([name for name, place in zip(names, resolved) if place in own])
    assert len(places) == 3
    assert places[0] == places[1] == places[2]
    assert pcs[0] != pcs[1] and pcs[1] != pcs[2], "one address for all: nothing was tested"
    # The link-time addresses are in the file's calls.
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", tmp_path / "my prog"],
                          capture_output=True, text=True, check=True).stdout
    code = [line.split(":\t") for line in text.splitlines() if ":\t" in line]
    for _, address in places[0]:
        at = max((int(start, 16), words) for start, words in code if int(start, 16) <= address)
        assert at[1].split()[0].startswith("call"), at


def test_program_after_program(heapscope, export, tmp_path):
    """A process that executes another program has one pid for both, and a reader one name and one map for a pid."""
    file = tmp_path / "x.pftrace"
    assert heapscope("run", "-q", "-i", 1, "-o", file, "--", "/bin/sh", "-c", "exec cat /dev/null").returncode == 0
    trace = infra_checker.read(export(file))
    assert sorted(trace.names.values()) == ["cat", "sh"] or sorted(trace.names.values()) == ["cat"]
    for pid in trace.processes:
        assert pid < 2**22 or trace.labels[pid] == f"pid {pid % 2**22}"


def test_dumps_and_what_is_new(heapscope, export, tmp_path):
    """Several dumps of one process: the tables of a dump have only what is new."""
    file = tmp_path / "x.pftrace"
    code = "import time\nkept = []\nfor i in range(6):\n    kept.append(bytearray(100000 + i))\n    time.sleep(0.3)"
    done = heapscope("run", "-q", "-i", 4096, "--dump-every", "400ms", "-o", file, "--", "/usr/bin/python3", "-c", code)
    assert done.returncode == 0, done.stderr
    trace = infra_checker.read(export(file))
    (process,) = trace.processes.values()
    assert len(process.dumps) >= 4 and len(trace.groups) == len(process.dumps)
    one = infra_checker.read(export(file, "--snapshot", 1, name="one.memory-infra.json"))
    (again,) = one.processes.values()
    assert len(again.dumps) == 1
    def figures(dump):
        return {(name, row["stack"], row["size"], row["count"]) for name, rows in dump[2].items() for row in rows}
    assert figures(again.dumps[0]) == figures(process.dumps[1])


def test_server(heapscope, dist, export, report, tmp_path):
    """redis-server while it works: each dump has the totals that the trace has."""
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    file, socket = tmp_path / "x.pftrace", tmp_path / "socket"
    command = [dist / "bin" / "heapscope", "run", "-q", "--dump-every", "300ms", "-o", file, "--", "redis-server", "--port", "0",
               "--unixsocket", socket, "--save", "", "--dir", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        wait_until(socket.exists)
        fill = "for i = 1, 20000 do redis.call('set', i, string.rep('x', 100)) end"
        for _ in range(3):
            subprocess.run(["redis-cli", "-s", socket, "eval", fill, "0"], check=True, stdout=subprocess.DEVNULL)
            let_time_pass(0.4, "snapshots are taken by time")
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=True)
        assert server.wait() == 0
    (process,) = infra_checker.read(export(file, name="x.memory-infra.json.gz")).processes.values()
    assert len(process.dumps) >= 3
    for number, dump in enumerate(process.dumps):
        live = report(file, "--snapshot", number)["totals"]["live"]
        assert sum(row["size"] for row in dump[2]["malloc"]) == pytest.approx(live["bytes"], rel=1e-9)
        # The trace rounds the counts of rows, and not their total.
        assert sum(row["count"] for row in dump[2]["malloc"]) == pytest.approx(live["count"], rel=1e-6)


BREAKERS = {
    "version": lambda d: d["heaps_v2"].update(version=2),
    "parent 0": lambda d: d["heaps_v2"]["maps"]["nodes"][0].update(parent=0),
    "no node": lambda d: d["heaps_v2"]["allocators"]["malloc"]["nodes"].__setitem__(0, 999999),
    "no type": lambda d: d["heaps_v2"]["allocators"]["malloc"]["types"].__setitem__(0, 7),
    "no string": lambda d: d["heaps_v2"]["maps"]["strings"].pop(0),
    "id twice": lambda d: d["heaps_v2"]["maps"]["strings"].append(d["heaps_v2"]["maps"]["strings"][0]),
    "empty heap": lambda d: d["heaps_v2"]["allocators"].update(malloc={}),
    "row twice": lambda d: [c.append(c[0]) for c in d["heaps_v2"]["allocators"]["malloc"].values()],
    "type twice": lambda d: d["heaps_v2"]["maps"]["types"].append({"id": 10**6, "name_sid": d["heaps_v2"]["maps"]["types"][0]["name_sid"]}),
    "id of a type": lambda d: d["heaps_v2"]["maps"]["types"].append({"id": 2, "name_sid": 2}),
    "columns": lambda d: d["heaps_v2"]["allocators"]["malloc"]["nodes"].pop(),
    "no summary": lambda d: d["allocators"].pop("malloc"),
    "decimal size": lambda d: d["allocators"]["malloc"]["attrs"]["size"].update(value=60192),
    "regions": lambda d: d["process_mmaps"]["vm_regions"].append(d["process_mmaps"]["vm_regions"][0]),
    "no bs": lambda d: d["process_mmaps"]["vm_regions"][0].pop("bs"),
    "detail": lambda d: d.update(level_of_detail="light"),
}


@pytest.mark.parametrize("name", BREAKERS)
def test_reader_is_strict(export, views, name):
    data = infra_checker.load(export(views))
    infra_checker.Trace(copy.deepcopy(data))
    (event,) = [event for event in data["traceEvents"] if event["ph"] == "v"]
    BREAKERS[name](event["args"]["dumps"])
    with pytest.raises((AssertionError, KeyError)):
        infra_checker.Trace(data)


# --- reading -----------------------------------------------------------------------------------------


def test_what_is_written_is_read(heapscope, report, export, views, tmp_path):
    for name in ("x.memory-infra.json", "x.memory-infra.json.gz"):
        data = report(export(views, name=name))
        assert data["totals"]["live"] == {"bytes": LIVE["size"], "count": LIVE["count"]}
        own = {f["function"]: f["self"] for f in data["functions_by_self"]}
        assert own["parse"]["bytes"] == 60000 and own["fib"]["count"] == 3
    # Once more: the same rows, in the same words.
    first = export(views)
    second = export(first, name="again.memory-infra.json")
    rows = [next(iter(infra_checker.read(file).processes.values())).dumps[0][2] for file in (first, second)]
    assert rows[0] == rows[1]
    # Nothing changed.
    done = heapscope("diff", views, first)
    assert done.returncode == 0, done.stderr


def test_addresses_are_read(heapscope, report, export, tmp_path):
    """Frames without names have the same module and link-time address as in the trace that was exported."""
    (tmp_path / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-pie", "-fPIE", "-s", "-o", tmp_path / "my prog", tmp_path / "p.c"], check=True)
    file = tmp_path / "x.pftrace"
    assert heapscope("run", "-q", "-i", 1, "-o", file, "--", tmp_path / "my prog", "2").returncode == 0
    def stacks(path):
        return heapscope("export", "-q", "-f", "folded", "--view", "space", path).stdout
    assert "my prog+0x" in stacks(file)
    assert stacks(export(file)) == stacks(file)


def test_types(dist, heapscope, export, target, tmp_path):
    """A row for each stack and type, in each mode of stacks, which heapscope reads back with its type."""
    now = style_sheets(dist, heapscope, target, tmp_path)
    kib = {"blink::ImmutableStylePropertySet": (371, 371), "blink::StringImpl": (238, 476), "blink::Node": (1024, 1024)}
    for mode in ("native", "native-with-thread-names", "pseudo", "mixed"):
        file = export(now, "--stack-mode", mode)
        (process,) = infra_checker.read(file).processes.values()
        (_, _, heaps), = process.dumps
        found = {}
        for row in heaps["malloc"]:
            size, count = found.get(row["type"], (0, 0))
            found[row["type"]] = size + row["size"], count + row["count"]
        assert found.pop("[unknown]")[0] > 21 * 2**20
        assert found == {name: (size * 1024, count) for name, (size, count) in kib.items()}
        again = export(file, name="again.memory-infra.json")
        (second,) = infra_checker.read(again).processes.values()
        assert sorted(map(repr, second.dumps[0][2]["malloc"])) == sorted(map(repr, heaps["malloc"]))
        assert types_of(heapscope, file)["blink::StringImpl"] == {"bytes": 238 * 1024, "count": 476}
    # Small stacks keep their types in <other>.
    short = export(now, "--other-below", "310K,310", name="short.memory-infra.json")
    (process,) = infra_checker.read(short).processes.values()
    rows_ = {row["type"]: row for row in process.dumps[0][2]["malloc"] if row["stack"][0] == "<other>"}
    assert rows_["blink::ImmutableStylePropertySet"]["count"] == 371
    # Threads, scopes and ages are in no such file.
    for options in (["--by", "thread"], ["--by", "type,age"], ["--stack-mode", "pseudo"]):
        done = heapscope("report", *options, short)
        assert done.returncode == 1 and "needs a trace" in done.stderr


def test_types_of_others(heapscope, tmp_path):
    """Chrome's own rows: a type that a row refers to may be in another dump, or nowhere."""
    def dump(us, types, rows):
        strings = [{"id": i + 1, "string": text} for i, text in enumerate(("[unknown]", "f", "Node", "Text"))]
        maps = {"strings": strings, "nodes": [{"id": 9, "name_sid": 2}], "types": types}
        columns = dict(zip(("counts", "sizes", "types", "nodes"), zip(*rows)))
        return {"ph": "v", "pid": 3, "tid": 3, "ts": us, "id": hex(us), "args": {"dumps": {
            "level_of_detail": "detailed", "heaps_v2": {"version": 1, "maps": maps, "allocators": {"partition_alloc": columns}}}}}

    file = tmp_path / "chrome.json"
    file.write_text(json.dumps({"traceEvents": [
        dump(5, [{"id": 0, "name_sid": 1}, {"id": 7, "name_sid": 3}], [(1, 10, 7, 9)]),
        dump(5000000, [{"id": 8, "name_sid": 4}], [(1, 10, 7, 9), (2, 30, 8, 9), (3, 40, 0, 9), (4, 2, 99, 9)])]}))
    assert types_of(heapscope, file) == {"Node": {"bytes": 10, "count": 1}, "Text": {"bytes": 30, "count": 2},
                                         "(unknown)": {"bytes": 42, "count": 7}}


def test_older_form(report, tmp_path):
    """Chrome's traces of 2016: values contain those of callees, and a list of events need not end."""
    file = tmp_path / "old.json"
    file.write_text("""[{"ph":"v","pid":3,"ts":5,"args":{"dumps":{"heaps":{"malloc":{"entries":[
        {"size":"64","count":"a"},{"bt":"1","size":"64","count":"a"},{"bt":"2","size":"24","count":"4"}]}}}}},
        {"ph":"M","pid":3,"name":"stackFrames","args":{"stackFrames":{"1":{"name":"main"},"2":{"name":"f","parent":"1"}}}}""")
    data = report(file)
    own = {f["function"]: f["self"] for f in data["functions_by_self"]}
    assert own["main"] == {"bytes": 64, "count": 6} and own["f"] == {"bytes": 36, "count": 4}
    assert "file_truncated" in {loss["name"] for loss in data["losses"]}


def test_what_others_wrote_can_be_written(export, tmp_path):
    """Files without names of processes, times and addresses."""
    folded = tmp_path / "x.folded"
    folded.write_text("main;f 10\nmain;g;h 20\nmain;f 5\n")
    trace = infra_checker.read(export(folded))
    assert trace.names == {}
    (process,) = trace.processes.values()
    (_, _, heaps), = process.dumps
    assert {row["stack"]: row["size"] for row in heaps["unknown"]} == {("main", "f"): 15, ("main", "g", "h"): 20}


def test_a_trace_without_heaps(heapscope, tmp_path):
    file = tmp_path / "other.json"
    file.write_text('{"traceEvents":[{"ph":"X","pid":1,"ts":1,"dur":2,"name":"work"}]}')
    done = heapscope("report", file)
    assert done.returncode == 1 and "no heap profile in this file" in done.stderr
