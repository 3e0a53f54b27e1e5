"""Which heaps a session records, and at which intervals: --heaps, --all-heaps, --exclude-heaps, and a TraceConfig."""

import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from conftest import clean_env
from preload import preloadable
from resident import need_ptrace
from test_api_recorded import Resident
from waiting import wait_until

OTHERS = {"ids", "equal", "slab", "outer", "inner"}
WITHOUT_MALLOC = "libc.malloc was left out"


@pytest.fixture
def many(target, flags):
    """A program with five heaps beside malloc's; it prints what is true of them."""
    return target("api_heaps", *flags[0], *flags[1])


@pytest.fixture
def resident(target, flags):
    program = Resident(target("api_resident", *flags[0], *flags[1]))
    yield program
    program.process.kill()
    program.process.wait()


def truth_of(stdout):
    return {name: tuple(map(int, figures)) for name, *figures in map(str.split, stdout.splitlines()) if len(figures) == 4}


def used(found):
    """The heaps of which anything was recorded."""
    return {name for name, figures in found.items() if any(figures)}


# --- run ---

@pytest.mark.parametrize("options, expected", [
    ([], OTHERS | {"libc.malloc"}),
    (["--heaps", "ids,slab"], {"ids", "slab"}),
    (["--heaps", "i*"], {"ids", "inner"}),
    (["--heaps", " ids , libc.malloc"], {"ids", "libc.malloc"}),
    (["--heaps", "libc.malloc"], {"libc.malloc"}),
    (["--exclude-heaps", "libc.malloc"], OTHERS),
    (["--exclude-heaps", "lib*,?nner"], OTHERS - {"inner"}),
    (["--exclude-heaps", "ids", "--heaps", "i*"], {"inner"}),
    (["--all-heaps", "--heaps", "ids=1"], OTHERS | {"libc.malloc"}),
    (["--heaps", "*"], OTHERS | {"libc.malloc"}),
])
def test_only_these_heaps(run, heaps, many, options, expected):
    done = run([many], "-i", 1, *options, env={"HEAPSCOPE_HEAPS": "ids=0,*=0"})  # the user's is replaced
    found = heaps(done.file)
    truth = truth_of(done.stdout)
    assert done.status == 0 and used(found) == expected, done.stderr
    assert {name: found[name] for name in expected & OTHERS} == {name: truth[name] for name in expected & OTHERS}
    assert done.report()["losses"] == [] and done.stderr == ""


def test_intervals_of_heaps(run, heaps, many):
    done = run([many], "-i", 1 << 20, "--heaps", "ids=1,libc.malloc,slab=4K")
    truth, found = truth_of(done.stdout), heaps(done.file)
    assert found["ids"] == truth["ids"] and used(found) <= {"ids", "libc.malloc", "slab"}
    assert found["slab"] != truth["slab"] and 0.8 < found["slab"][2] / truth["slab"][2] < 1.2
    done = run([many], "-i", 1, "--heaps", "libc.malloc=1G,ids")  # -i is for heaps without their own interval
    found = heaps(done.file)
    assert found["ids"] == truth["ids"] and used(found) == {"ids"}


def test_report_says_what_was_left_out(run, heapscope, many):
    done = run([many], "-i", 1, "--exclude-heaps", "libc.malloc")
    text = heapscope("report", done.file).stdout
    assert WITHOUT_MALLOC in text and "allocations in the heaps that are counted were recorded" in text
    assert "!" not in text.split("Where did")[0]
    assert WITHOUT_MALLOC not in heapscope("report", run([many], "-i", 1, "--heaps", "libc.malloc").file).stdout


NOT_RECORDED = "is counted; not recorded: ids, equal, slab, outer and inner"


def words_of(text):
    return " ".join(text.split())


def test_every_view_names_the_heaps_that_were_left_out(run, heapscope, many, tmp_path):
    """What is exact is so of the selected heaps; that the process has others is said wherever it is."""
    done = run([many], "-i", 1, "--heaps", "libc.malloc")
    every = run([many], "-i", 1)
    for args in (["report"], ["report", "--tree"], ["diff", every.file], ["check", "--max-live", "1G"], ["export", "-f", "svg"],
                 ["export", "-f", "massif"], ["export", "-f", "speedscope"]):
        assert NOT_RECORDED in words_of(heapscope(*args, done.file).stdout), args
        assert "not recorded:" not in words_of(heapscope(*args, every.file).stdout), args
    assert NOT_RECORDED in words_of(heapscope("export", "-f", "folded", done.file).stderr)
    text = words_of(heapscope("report", done.file).stdout)
    assert "exact: all " in text and " allocations of the selected heaps of this process were recorded" in text
    report = done.report()
    assert report["left_out_heaps"] == ["ids", "equal", "slab", "outer", "inner"] and report["is_exact"]
    assert "left_out_heaps" not in every.report()
    assert NOT_RECORDED in words_of(heapscope("run", "-i", 1, "-o", done.file, "--heaps", "libc.malloc", "--", many).stderr)
    # A default that says nothing of heaps.
    folder = tmp_path / "out"
    folder.mkdir()
    assert heapscope("record", "-i", 1, "-o", folder, "--", many).returncode == 0
    assert NOT_RECORDED in words_of(heapscope("report", folder / "raw-trace").stdout)
    # Nothing was left out where there is no other heap, and where all were selected by name.
    for program, options in (["true"], ["--heaps", "libc.malloc"]), ([many], ["--heaps", "*"]):
        text = words_of(heapscope("report", run(program, "-i", 1, *options).file).stdout)
        assert "the selected heaps" not in text and "not recorded" not in text


@pytest.mark.parametrize("options", [["--heaps", "ids=1"], ["--heaps", "ids=1,slab=1", "-i", "64K"]])
def test_exact_heaps_of_a_process_that_would_be_sampled(run, heapscope, many, options):
    """Nothing else was recorded, so the interval of malloc's heap widens no margin."""
    done = run([many], *options)
    names = options[1].replace("=1", "").split(",")
    truth = truth_of(done.stdout)
    live_bytes = sum(truth[name][0] for name in names)
    report = done.report()
    assert report["is_exact"] and not report["is_sampled"]
    assert report["totals"]["live"] == {"bytes": live_bytes, "count": sum(truth[name][1] for name in names)}
    assert all("bytes_low" not in heap["live"] for heap in report["heaps"])
    text = words_of(heapscope("report", done.file).stdout)
    count = sum(truth[name][3] for name in names)
    assert f"exact: all {count:,} allocations of the selected heaps of this process were recorded" in text
    assert "when the recording began" not in text and (len(names) == 1 or "exact ids, in libc.malloc" in text)
    assert heapscope("check", "--strict", "--max-live", live_bytes, done.file).returncode == 0
    assert heapscope("check", "--max-live", live_bytes - 1, done.file).returncode == 1
    assert ", without sampling" in heapscope("diff", done.file, done.file).stdout
    rows = heapscope("query", "--format", "csv", done.file, "SELECT live_bytes_low, live_bytes_high, interval_bytes FROM heapscope_dumps; "
                     "SELECT MAX(live_bytes_high - live_bytes) AS n FROM heapscope_samples").stdout.split()
    assert list(map(float, rows[1].split(","))) == [live_bytes, live_bytes, 1] and float(rows[3]) == 0


def test_exact_heap_beside_a_sampled_one(run, heapscope, many):
    """The total has the margin of malloc's heap, the other one has none."""
    done = run([many], "-i", "64K", "--heaps", "libc.malloc,ids=1")
    truth, report = truth_of(done.stdout), done.report("--heap", "ids")
    assert report["is_exact"] and report["totals"]["live"]["bytes"] == truth["ids"][0] and "bytes_low" not in report["totals"]["live"]
    whole = done.report()
    assert not whole["is_exact"] and whole["totals"]["live"]["bytes_high"] > whole["totals"]["live"]["bytes"]
    assert whole["processes"][0]["interval_bytes"] == 65536


def test_allocated_memory_has_the_margin_of_its_heap(run, many):
    """Also where another heap is sampled far more coarsely."""
    done = run([many], "-i", 1 << 30, "--heaps", "libc.malloc,slab=4K")
    alloc = next(heap["alloc"] for heap in done.report()["heaps"] if heap["name"] == "slab")
    # A million bytes: four standard errors of 64,000 bytes, and not of 33 million.
    assert 100_000 < alloc["bytes_high"] - alloc["bytes_low"] < 600_000
    assert alloc["bytes_low"] > 500_000


def test_a_heap_that_was_left_out_cannot_be_chosen(run, heapscope, many):
    """Its figures are not 0, and no limit on it is kept."""
    done = run([many], "-i", 1, "--heaps", "libc.malloc,ids")
    message = f"heapscope: {done.file}: the heap 'slab' was not recorded; recorded were libc.malloc and ids\n"
    for command in (["report"], ["export", "-f", "folded"], ["check", "--max-live", "1G"], ["query"], ["profile"], ["diff", done.file]):
        found = heapscope(*command, "--heap", "ids,slab", done.file, input="")
        assert found.returncode == (3 if command[0] == "check" else 1) and found.stderr == message, command


def test_sql_knows_which_heaps_were_left_out(run, heapscope, many):
    done = run([many], "-i", 1, "--exclude-heaps", "i*")
    rows = heapscope("query", "--format", "csv", done.file, "SELECT heap_name, live_bytes IS NULL AND alloc_count_high IS NULL AND "
                     "interval_bytes IS NULL FROM heapscope_heaps WHERE is_left_out OR live_bytes IS NULL ORDER BY 1").stdout
    assert rows.splitlines()[1:] == ['"ids",1', '"inner",1']
    lines = heapscope("export", "-f", "json", done.file).stdout.splitlines()
    assert sum('"is_left_out": true' in line or '"is_left_out":true' in line for line in lines) == 2


def test_report_shows_carved_heaps_when_malloc_was_left_out(run, heapscope, heaps, many):
    """Nothing in the file contains them then."""
    done = run([many], "-i", 1, "--heaps", "slab,ids")
    found, report = heaps(done.file), done.report()
    assert sum(stack["live"].get("bytes", 0) for stack in report["stacks"]) == found["slab"][0] + found["ids"][0]
    both = run([many], "-i", 1, "--heaps", "slab,libc.malloc")
    assert "use_slab" in heapscope("report", both.file).stdout
    assert sum(stack["live"].get("bytes", 0) for stack in both.report()["stacks"]) == heaps(both.file)["libc.malloc"][0]
    only = run([many], "-i", 1, "--heaps", "slab,ids").report("--heap", "ids")
    assert sum(stack["live"].get("bytes", 0) for stack in only["stacks"]) == found["ids"][0]
    summary = heapscope("run", "-i", 1, "-o", done.file, "--heaps", "slab", "--", many).stderr
    assert "use_slab" in summary and "was recorded without" not in summary


def test_heap_that_nobody_registered(run, heapscope, many):
    done = run([many], "-i", 1, "--heaps", "slap,ids,libc.malloc", "--exclude-heaps", "oter")
    assert done.stderr.startswith("heapscope: no process registered a heap named 'oter' or 'slap'; registered were ")
    assert "inner" in done.stderr and "libc.malloc" not in done.stderr
    text = " ".join(heapscope("report", done.file).stdout.split())
    assert "! no process registered a heap named 'oter' or 'slap'; registered were " in text
    summary = heapscope("run", "-o", done.file, "--heaps", "slap,libc.malloc", "--", many)
    assert "! no process registered a heap named 'slap'" in summary.stderr and "\nheapscope: no process" not in summary.stderr
    done = run(["true"], "--heaps", "arena")
    assert "no process registered a heap named 'arena'; no heap was registered" in done.stderr


@pytest.mark.parametrize("options, words", [
    (["--heaps", "ids=0"], "'ids=0' has no interval of 1 to 1T bytes behind the '='"),
    (["--heaps", "ids="], "'ids=' has no interval"),
    (["--heaps", "ids,,slab"], "the name of a heap must not be empty"),
    (["--heaps", ""], "the name of a heap must not be empty"),
    (["--heaps", "x" * 64], "at most 63 bytes"),
    (["--heaps", ",".join(f"h{i}" for i in range(33))], "at most 32 heaps can be named"),
    (["--exclude-heaps", "*"], "no heap is left to record"),
    (["--heaps", "libc.malloc", "--exclude-heaps", "lib*"], "no heap is left to record"),
])
@pytest.mark.parametrize("command", [["run", "--"], ["attach"], ["start", "-p"]])
def test_wrong_options(heapscope, command, options, words):
    done = heapscope(command[0], *options, *command[1:], "1")
    assert done.returncode == 2 and words in done.stderr


def test_forked_child_has_the_selection(run, heapscope, heaps, target, flags):
    program = target("api_resident", *flags[0], *flags[1])
    done = run([program], "-i", 1, "--heaps", "resident", input="alloc 10\nfork\nalloc 1\n")
    assert done.status == 0, done.stderr
    assert used(heaps(done.file)) == {"resident"}
    assert len(done.report()["processes"]) == 2


def test_client_of_an_older_version(run, heaps, heapscope, root, tmp_path):
    """It has no heaps but malloc's, and cannot leave that out."""
    client = tmp_path / "libheapscope_preload.so"
    client.write_bytes(lzma.decompress((root / "test" / "golden" / "client-v1-last-x86_64.so.xz").read_bytes()))
    done = run(["true"], "-i", 1, "--heaps", "arena", env={"HEAPSCOPE_LIB": tmp_path})
    words = "its heapscope library is of an older version, which records libc.malloc only, and libc.malloc was left out"
    text = " ".join(heapscope("report", done.file).stdout.split())
    assert words in text and not used(heaps(done.file))
    done = run(["ls"], "-i", 1, "--heaps", "arena,libc.malloc", env={"HEAPSCOPE_LIB": tmp_path})
    assert "no process registered a heap named 'arena'; no heap was registered" in done.stderr
    assert used(heaps(done.file)) == {"libc.malloc"}


# --- attach ---

def test_attach(resident, attach, heaps, heapscope):
    """Each attachment has its own selection, and leaves none behind."""
    need_ptrace()
    for options, expected in [(["--heaps", "resident=1", "-i", 65536], {"resident"}),
                              (["-i", 1], {"resident", "libc.malloc"}),
                              (["-i", 1, "--exclude-heaps", "resi*"], {"libc.malloc"}),
                              (["-i", 1, "--heaps", "arena"], set())]:
        session = attach(resident.pid, options=options)
        assert session.is_recording, session.said
        resident.tell("alloc 10", "malloc 10", "poll")
        assert session.stop() == 0
        found = heaps(session.file)
        assert used(found) == expected, options
        assert "resident" not in expected or found["resident"] == (1000, 10, 1000, 10)
        resident.tell("poll")
    assert "! no process registered a heap named 'arena'; registered were resident" in heapscope("report", session.file).stdout


# --- the daemon ---

@pytest.fixture
def copy(tmp_path):
    """copy(PROGRAM): the same under a name that no other test's programs have."""

    def call(program):
        made = tmp_path / f"sel-{os.getpid()}-{time.monotonic_ns() % 10**6}"
        shutil.copy(program, made)
        return made

    return call


def tell(program, *commands):
    """Like Resident.tell(), for a program of the daemon's."""
    for command in commands:
        program.process.stdin.write(command + "\n")
        program.process.stdin.flush()
        while program.process.stdout.readline() != "ok\n":
            pass


def test_sessions_of_one_process(daemon, heaps, target, flags):
    """The end of a session leaves the control page clean for the next one."""
    program = daemon.launch([target("api_resident", *flags[0], *flags[1])])

    for options, expected in [(["--exclude-heaps", "libc.malloc"], {"resident"}),
                              ([], {"resident", "libc.malloc"}),
                              (["--heaps", "libc.malloc"], {"libc.malloc"}),
                              (["-i", "1G", "--heaps", "resident=1,libc.malloc"], {"resident"}),
                              (["--heaps", "resident,libc.malloc=1G"], {"resident"})]:
        name = daemon.begin("-p", program.pid, "-i", 1, *options)
        wait_until(lambda: (tell(program, "poll", "malloc 1"), daemon.session(name)["running_count"] == 1)[1], "not recorded")
        tell(program, "alloc 10", "malloc 10")
        found = heaps(daemon.stop(name).file)
        assert used(found) == expected, options
        assert "resident" not in expected or found["resident"] == (1000, 10, 1000, 10), options


def test_program_that_starts(daemon, heaps, many, heapscope, copy):
    """What it recorded before it knew the selection is not in the file."""
    program = copy(many)
    name = daemon.begin("-n", program.name, "-i", 1, "--heaps", "ids,slab,sloop")
    done = subprocess.run([program], env=daemon.preloaded(), capture_output=True, text=True, check=True)
    wait_until(lambda: daemon.session(name)["process_count"] == 1, "not recorded")
    stopped = daemon.stop(name)
    found, truth = heaps(stopped.file), truth_of(done.stdout)
    assert used(found) == {"ids", "slab"}
    assert {heap: found[heap] for heap in ("ids", "slab")} == {heap: truth[heap] for heap in ("ids", "slab")}
    assert "no process registered a heap named 'sloop'; registered were " in stopped.stderr
    assert WITHOUT_MALLOC in heapscope("report", stopped.file).stdout


@pytest.mark.parametrize("agree", [True, False], ids=["agree", "disagree"])
def test_program_that_starts_before_the_daemon_looks(daemon, heaps, many, heapscope, copy, agree):
    """It selects heaps from its first allocation on, if the sessions that wait for programs agree."""
    program = copy(many)
    name = daemon.begin("-n", program.name, "-i", 1, "--heaps", "ids,slab")
    daemon.begin("-n", "no-such-program", "-i", 1, "--heaps", "ids,slab" if agree else "ids")
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        done = subprocess.run([program], env=daemon.preloaded(), capture_output=True, text=True, check=True)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    wait_until(lambda: daemon.session(name)["process_count"] == 1, "not recorded")
    stopped = daemon.stop(name)
    found, truth = heaps(stopped.file), truth_of(done.stdout)
    assert used(found) == {"ids", "slab"}
    assert {heap: found[heap] for heap in ("ids", "slab")} == {heap: truth[heap] for heap in ("ids", "slab")}
    sql = "SELECT max(sample_count), max(free_count) FROM heapscope_dumps"
    said = heapscope("query", stopped.file, sql, "--format", "csv")
    samples, frees = map(int, said.stdout.split()[-1].split(","))
    assert samples == truth["ids"][3] + truth["slab"][3]
    wanted = sum(truth[heap][3] - truth[heap][1] for heap in ("ids", "slab"))
    assert frees == wanted if agree else frees > wanted


def test_options_that_are_given_twice_add_up(run, heaps, many):
    done = run([many], "-i", 1, "--heaps", "ids", "--heaps", "slab,inner", "--exclude-heaps", "inner", "--exclude-heaps", "x")
    assert used(heaps(done.file)) == {"ids", "slab"}


PYTHON = {"name": "python.obj", "interval_bytes": 32768}
ALL = [{"name": "libc.malloc", "interval_bytes": 4096}, PYTHON, {"name": "*", "interval_bytes": 4096}]
SELECTED = [{"name": "libc.malloc", "interval_bytes": 4096}, {"name": "inner", "is_left_out": True}, {"name": "i*", "interval_bytes": 1},
            {"name": "slab", "interval_bytes": 4096}, {"name": "*", "is_left_out": True}]
ONLY_OTHERS = [{"name": "libc.malloc", "is_left_out": True}, PYTHON, {"name": "ids", "is_left_out": True},
               {"name": "*", "interval_bytes": 4096}]


def test_list_shows_the_selection(daemon, heapscope):
    """Of a daemon's sessions, and of a command that records by itself."""
    names = [daemon.begin("-n", "no-such-program", *options) for options in
             ([], ["--heaps", "i*=1,slab,libc.malloc", "--exclude-heaps", "inner"], ["--exclude-heaps", "libc.malloc,ids"])]
    found = {session["session"]: session["heaps"] for session in daemon.list()["sessions"]}
    assert [found[name] for name in names] == [ALL, SELECTED, ONLY_OTHERS]
    text = daemon.ask("list").stdout
    heaps = text.split("\nSESSION")[2].split("\n\n")[0]
    lines = [line.split(None, 1) for line in heaps.splitlines()[1:]]
    assert lines == [[names[1], "libc.malloc, i*=1, slab but inner"],
                     [names[2], "all, python.obj=32768 but libc.malloc, ids"]]
    command = [daemon.dist / "bin" / "heapscope", "run", "-q", "--heaps", "ids=1", "-o", daemon.folder / "t.pftrace", "--",
               "sh", "-c", "echo; read x"]
    with subprocess.Popen(command, env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        listed = json.loads(heapscope("list", "--json").stdout)
        own = next(place for place in listed["recordings"] if place["pid"] == run.pid)
        assert own["sessions"][0]["heaps"] == [{"name": "libc.malloc", "is_left_out": True}, {"name": "ids", "interval_bytes": 1},
                                               {"name": "*", "is_left_out": True}]
        run.stdin.close()


def test_selection_outlives_the_daemon(daemon, heaps, target, flags, copy):
    path = copy(target("api_resident", *flags[0], *flags[1]))
    program = daemon.launch([path])
    name = daemon.begin("-n", path.name, "-i", 1, "--heaps", "resident")
    wait_until(lambda: daemon.session(name)["running_count"] == 1, "not recorded")
    daemon.process.kill()
    daemon.process.wait()
    daemon.start()
    wait_until(lambda: daemon.session(name)["running_count"] == 1, "not continued")
    tell(program, "alloc 10", "malloc 10")
    other = subprocess.Popen([path], env=daemon.preloaded(), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    other.communicate("alloc 5\n")
    program.end()
    assert used(heaps(daemon.stop(name).file)) == {"resident"}


def test_environment_of_a_preloaded_program(daemon, heaps, many, copy):
    """A session's selection counts, not the one that the program has in its environment."""
    program = copy(many)
    name = daemon.begin("-n", program.name, "-i", 1, "--heaps", "ids")
    subprocess.run([program], env=daemon.preloaded(HEAPSCOPE_HEAPS="libc.malloc=1"), capture_output=True, check=True)
    wait_until(lambda: daemon.session(name)["process_count"] == 1, "not recorded")
    assert used(heaps(daemon.stop(name).file)) == {"ids"}


# --- record ---

@pytest.mark.parametrize("options, expected", [
    ([], {"libc.malloc"}),
    (["--heaps", "ids,slab"], {"ids", "slab"}),
    (["--all-heaps"], OTHERS | {"libc.malloc"}),
    (["--all-heaps", "--exclude-heaps", "libc.malloc,i*"], OTHERS - {"ids", "inner"}),
])
def test_record(heapscope, heaps, many, tmp_path, options, expected):
    folder = tmp_path / "out"
    folder.mkdir()
    done = heapscope("record", "-i", 1, "-o", folder, *options, "--", many)
    assert done.returncode == 0, done.stderr
    found, truth = heaps(folder / "raw-trace"), truth_of(done.stdout)
    assert used(found) == expected
    assert all(found[name] == truth[name] for name in expected & OTHERS)


def test_record_with_a_list_of_intervals(heapscope, heaps, many, tmp_path):
    for options in (["-i", "1,4K,1G", "--heaps", "ids,slab,libc.malloc"], ["-i", "1", "--heaps", "ids,slab=4K,libc.malloc=1G"]):
        folder = tmp_path / f"out{len(options)}"
        folder.mkdir()
        done = heapscope("record", "-o", folder, *options, "--", many)
        found, truth = heaps(folder / "raw-trace"), truth_of(done.stdout)
        assert found["ids"] == truth["ids"] and found["slab"] != truth["slab"] and used(found) == {"ids", "slab"}
        config = heapscope("record", "--print-config", *options, "--", many).stdout
        assert [line.strip() for line in config.splitlines() if "heap_sampling" in line or "heaps:" in line] == [
            'heaps: "ids"', "heap_sampling_intervals: 1", 'heaps: "slab"', "heap_sampling_intervals: 4096",
            'heaps: "libc.malloc"', "heap_sampling_intervals: 1073741824"]
        folder.rename(tmp_path / f"done{options[1].count(',')}")


@pytest.mark.parametrize("options, status, words", [
    (["-i", "1,2"], 1, "one interval for each name of --heaps"),
    (["-i", "1,2", "--heaps", "a"], 1, "one interval for each name of --heaps"),
    (["-i", "1,2", "--heaps", "a,b,c"], 1, "one interval for each name of --heaps"),
    (["-i", "1,2", "--heaps", "a=3,b"], 1, "no name its own"),
    (["-i", "1,0", "--heaps", "a,b"], 2, "'0' is not a size of 1 byte to 1T"),
    (["-i", "x"], 2, "'x' is not a size of 1 byte to 1T"),
    (["--heaps", "a=0"], 1, "'a=0' has no interval of 1 to 1T bytes"),
    (["--exclude-heaps", "libc.malloc"], 1, "the config selects no heap"),
])
def test_wrong_options_of_record(heapscope, options, status, words):
    done = heapscope("record", *options, "--", "true")
    assert done.returncode == status and words in done.stderr


CONFIG = """data_sources {{ config {{ name: "android.heapprofd" heapprofd_config {{
    sampling_interval_bytes: 1 {} }} }} }} duration_ms: {}"""


@pytest.mark.parametrize("fields, expected", [
    ("", {"libc.malloc"}),
    ('heaps: "ids" heaps: "slab" heap_sampling_intervals: 1 heap_sampling_intervals: 1', {"ids", "slab"}),
    ('all_heaps: true exclude_heaps: "libc.malloc" exclude_heaps: "equal"', OTHERS - {"equal"}),
    ('heaps: "ids" exclude_heaps: "ids"', {"ids"}),  # as heapprofd does
])
def test_config(heapscope, heaps, many, tmp_path, fields, expected):
    done = heapscope("record", "--config", "-", "-o", tmp_path / "t.pftrace", "--", many, input=CONFIG.format(fields, 0))
    assert done.returncode == 0, done.stderr
    assert used(heaps(tmp_path / "t.pftrace")) == expected


def test_config_without_a_program(daemon, heaps, many, tmp_path, copy):
    """Through the daemon, which gets the selection."""
    program = copy(many)
    file = tmp_path / "t.pftrace"
    config = CONFIG.format(f'heaps: "ids" process_cmdline: "{program.name}"', 0)
    command = [daemon.dist / "bin" / "heapscope", "record", "--config", "-", "-o", file]
    process = subprocess.Popen(command, env=clean_env(**daemon.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write(config)
    process.stdin.close()
    assert "Profiling active" in process.stdout.readline()
    subprocess.run([program], env=daemon.preloaded(), capture_output=True, check=True)
    wait_until(lambda: daemon.list()["sessions"][0]["process_count"] == 1, "not recorded")
    process.terminate()
    assert process.wait(30) == 0, process.stderr.read()
    assert used(heaps(file)) == {"ids"}


def test_preloaded_by_hand_is_not_changed(many, dist):
    """Without a collector the variable changes nothing in the program."""
    env = clean_env(LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"), HEAPSCOPE_HEAPS="=,==,*=99999999999999999999,")
    plain = subprocess.run([many], env=clean_env(), capture_output=True, text=True, check=True)
    assert subprocess.run([many], env=env, capture_output=True, text=True, check=True).stdout == plain.stdout


BEFORE = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    void *volatile first = malloc(30 << 20); /* libc.malloc has its peak, and with it all heaps */
    free(first);
    char *mapped = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(mapped, 1, 8 << 20);
    return mapped == NULL;
}
"""


def test_the_peak_of_all_heaps_is_not_called_that_of_one(run, heapscope, tmp_path):
    """At the peak of all, the heap `mmap` held nothing; it lives at the end."""
    program = tmp_path / "before"
    subprocess.run(["gcc", "-O0", "-x", "c", "-", "-o", program], input=BEFORE, text=True, check=True)
    done = run([program], "-i", 1)
    text = heapscope("report", "--heap", "mmap", done.file).stdout
    assert re.search(r"^  at peak of all heaps +0 B", text, re.M) and not re.search(r"^  peak +[0-9]", text, re.M), text
    assert "Allocated blocks account for only" not in text and re.search(r"8\.00 MiB were live at the end", text), text
    text = " ".join(heapscope("report", "--heap", "libc.malloc", "--view", "peak", done.file).stdout.split())
    assert "30.0 MiB were live at the peak of all heaps." in text, text
    chosen = json.loads(heapscope("report", "--json", "--heap", "mmap", done.file).stdout)
    assert chosen["is_peak_of_all_heaps"] and chosen["totals"]["peak"]["bytes"] == 0
    whole = done.report()
    assert "is_peak_of_all_heaps" not in whole and whole["totals"]["peak"]["bytes"] >= 30 << 20
    assert re.search(r"^  peak +30\.0 MiB", heapscope("report", done.file).stdout, re.M)
