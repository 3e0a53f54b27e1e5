"""Snapshots of a running program are instants: everything adds up in each of them.

test/target/windows.c holds a window of blocks of consecutive sizes. A snapshot that contains a
block of another moment, or lacks one, does not have the sum of such a window. This must hold
while the program runs, while it stands still in the middle of something, and after it was
killed.
"""

import ctypes
import os
import random
import re
import signal
import subprocess

import pytest
from conftest import clean_env
from waiting import let_time_pass, thread_count, wait_until

WINDOW = 3000
CYCLE = 100000
DUMP_EVERY = "10ms"  # as often as is allowed

PTRACE_CONT = 7
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
WALL = 0x40000000


def newest_of(live, alloc_count):
    """The number of the newest block if these blocks are a window; None if they are not."""
    count = round(live["count"])
    for newest in range(alloc_count - 2, alloc_count + 3):
        oldest = max(newest - count, 0)
        if sum(n % CYCLE + 1 for n in range(oldest, newest)) == round(live["bytes"]):
            return newest
    return None


def site_of(stack):
    return next((f["function"] for f in stack["frames"] if f["function"].startswith("site_")), None)


def read_sites(report):
    """{site: (live, alloc)}"""
    sites = {}
    for stack in report["stacks"]:
        site = site_of(stack)
        if site:
            live, alloc = sites.setdefault(site, ({"bytes": 0, "count": 0}, {"count": 0}))
            live["bytes"] += stack["live"]["bytes"]
            live["count"] += stack["live"]["count"]
            alloc["count"] += stack["alloc"]["count"]
    return sites


def find_newest(report):
    """{site: number of its newest block, or its values if they are not a window}"""
    newest = {}
    for site, (live, alloc) in read_sites(report).items():
        in_window = live["count"] in (WINDOW, WINDOW + 1) or alloc["count"] <= WINDOW + 2
        found = newest_of(live, round(alloc["count"])) if in_window else None
        newest[site] = found if found is not None else (live, alloc)
    return newest


def bad_windows(report):
    return {s: found for s, found in find_newest(report).items() if not isinstance(found, int)}


@pytest.fixture
def reports(report):
    """reports(FILE): the report of each snapshot in the file."""

    def call(file):
        count = max(p["snapshot_count"] for p in report(file)["processes"])
        return [report(file, "--top", "all", "--snapshot", n) for n in range(count - 1)]

    return call


def windows(target, *words):
    return [target("windows", "-pthread", "-O2"), *map(str, words)]


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("threads", [1, 4])
def test_each_snapshot_adds_up(run, reports, target, threads):
    done = run(windows(target, 2, threads), "-i", 1, "--dump-every", "20ms")
    assert done.status == 0, done.stderr
    found = reports(done.file)
    assert len(found) > 20
    assert [bad for bad in map(bad_windows, found) if bad] == []
    assert len(read_sites(found[-1])) == threads


@pytest.mark.costly
@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_no_effect_without_its_cause(run, reports, target, seconds):
    """A block that was allocated because of another one is not there without it."""
    program = windows(target, seconds, 2, "causal")
    done = run(program, "-i", 1, "--dump-every", DUMP_EVERY)
    found = [find_newest(r) for r in reports(done.file)]
    assert len(found) > 10
    assert [f for f in found if not all(isinstance(n, int) for n in f.values())] == []
    assert [f for f in found if f.get("site_1", 0) > f.get("site_0", 0)] == []


@pytest.mark.costly
@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_blocks_that_move_are_nowhere_twice(run, reports, target, seconds):
    """Each thread has all its blocks, at whatever site, or lacks the one that it is moving."""
    program = windows(target, seconds, 3, "moves")
    done = run(program, "-i", 1, "--dump-every", DUMP_EVERY)
    sites = list(map(read_sites, reports(done.file)))
    counts = [sum(round(live["count"]) for live, _ in s.values()) for s in sites]
    allocs = [sum(alloc["count"] for _, alloc in s.values()) for s in sites]
    # No thread moves a block before all have theirs: more allocations than that show that they
    # have.
    counts = [n for n, alloc in zip(counts, allocs) if alloc > 3 * WINDOW]
    assert len(counts) > 10
    assert [n for n in counts if not 3 * WINDOW - 3 <= n <= 3 * WINDOW] == []


# --- stopped and killed programs ------------------------------------------------------------------


@pytest.fixture
def start(dist, tmp_path):
    """start(PROG, ...): under heapscope, with dumps all the time; returns the process and the
    program's pid."""
    started = []

    def call(*program, file):
        # The shell is in between, because stopping a direct child would stop heapscope too.
        script = ["sh", "-c", '"$@" & echo $!; wait', "sh", *program]
        options = ["-q", "-i", "1", "--dump-every", "20ms", "-o", str(file)]
        process = subprocess.Popen(
            [str(dist / "bin" / "heapscope"), "run", *options, "--", *script],
            env=clean_env(), stdout=subprocess.PIPE, text=True,
        )
        pid = int(process.stdout.readline())
        started.append((process, pid))
        return process, pid

    yield call
    for process, pid in started:
        if process.poll() is None:
            os.kill(pid, signal.SIGKILL)
            process.wait(timeout=30)


@pytest.mark.costly
def test_stopped_program(start, reports, target, tmp_path):
    """Snapshots continue while the program is stopped, and all say the same."""
    process, pid = start(*windows(target, 1, 3), file=tmp_path / "x")
    for _ in range(4):
        let_time_pass(0.05, "snapshots of a running program")
        os.kill(pid, signal.SIGSTOP)
        let_time_pass(0.12, "snapshots of a stopped program")
        os.kill(pid, signal.SIGCONT)
    assert process.wait(timeout=60) == 0
    found = reports(tmp_path / "x")
    assert [bad for bad in map(bad_windows, found) if bad] == []
    newest = [find_newest(r) for r in found]
    assert sum(a == b for a, b in zip(newest, newest[1:])) > 8


@pytest.mark.costly
def test_one_thread_stuck(start, reports, target, tmp_path):
    """A thread is stopped at any place, usually in the client's code; the others continue."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    process, pid = start(*windows(target, 1.5, 3), file=tmp_path / "x")
    wait_until(lambda: thread_count(pid) == 3, "its threads do not start")
    tid = max(map(int, os.listdir("/proc/%d/task" % pid)))
    if libc.ptrace(PTRACE_SEIZE, tid, None, None) != 0:
        pytest.skip("no ptrace here: " + os.strerror(ctypes.get_errno()))
    status = 0
    for _ in range(7):
        let_time_pass(random.random() / 50, "the thread is stopped at any moment")
        if libc.ptrace(PTRACE_INTERRUPT, tid, None, None) != 0:
            break  # on a busy machine it may have ended
        found_tid, status = os.waitpid(tid, WALL)
        assert found_tid == tid
        if not os.WIFSTOPPED(status):
            break
        let_time_pass(0.1, "snapshots with a stopped thread")
        assert libc.ptrace(PTRACE_CONT, tid, None, None) == 0
    if not os.WIFEXITED(status):
        assert os.waitpid(tid, WALL)[0] == tid  # its end
    assert process.wait(timeout=60) == 0
    found = reports(tmp_path / "x")
    assert [bad for bad in map(bad_windows, found) if bad] == []
    # The others made progress.
    newest = [find_newest(r) for r in found]
    held = [(a, b) for a, b in zip(newest, newest[1:]) if sum(a.get(s) == b.get(s) for s in b) == 1]
    assert len(held) > 8


@pytest.mark.costly
@pytest.mark.parametrize("count", [6, pytest.param(300, marks=pytest.mark.slow)])
def test_killed_at_any_moment(start, report, reports, target, tmp_path, count):
    """The remaining file is a complete profile, and its last snapshot is an instant like all the
    others."""
    for i in range(count):
        file = tmp_path / "x"
        process, pid = start(*windows(target, 60, 1 + i % 4), file=file)
        let_time_pass(random.random() / 5, "the program is killed at any moment")
        os.kill(pid, signal.SIGKILL)
        assert process.wait(timeout=60) == 0
        assert bad_windows(report(file, "--top", "all")) == {}, i
        if i % 20 == 0:
            assert [bad for bad in map(bad_windows, reports(file)) if bad] == []
        file.unlink()


@pytest.mark.slow
def test_ten_thousand_cuts(root):
    """The long form of test/unit/test_cut.c, which explains what it checks."""
    program = root / "build" / "debug" / "test" / "unit" / "test_cut"
    if not program.exists():
        pytest.skip("the unit tests are not built: ./dev test builds them")
    total = 0
    while total <= 10000:  # a busy machine takes fewer snapshots between a start and a kill
        done = subprocess.run([program, "40"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=3600)
        assert done.returncode == 0, done.stdout
        found = re.findall(r": (\d+) of (\d+) snapshots bad", done.stdout)
        assert len(found) == 10, done.stdout
        assert [int(bad) for bad, _ in found] == [0] * 10
        total += sum(int(count) for _, count in found)
