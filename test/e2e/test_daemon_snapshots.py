"""Snapshots through the daemon of processes that cannot cooperate: stopped, hung, dying. Each is
one instant.

test/target/windows.c holds a window of blocks of consecutive sizes (see test_run_snapshots.py).
Whatever state the program is in, and wherever its threads stand, the blocks of each thread in a
snapshot are such a window. Each test has two forms: with the library preloaded, and attached to
a running program.
"""

import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import pytest
from conftest import clean_env
from daemon_peer import connect, take_snapshot
from resident import need_ptrace
from test_run_snapshots import CYCLE, WINDOW, read_sites
from waiting import let_time_pass, stop_process, thread_count, wait_until

COUNTS = [20, pytest.param(1000, marks=pytest.mark.slow)]


def is_window(count, total):
    """Can `count` consecutive numbers of 1 .. CYCLE, 1 .. CYCLE, ... have this sum?"""
    plain = total - count * (count + 1) // 2
    if count == 0 or (plain % count == 0 and 0 <= plain // count <= CYCLE - count):
        return total == 0 or count > 0
    # The last j of a cycle, and the first ones of the next.
    return any(j * (2 * CYCLE - j + 1) // 2 + (count - j) * (count - j + 1) // 2 == total for j in range(1, count))


def bad_windows(report):
    """Sites with values that no instant can have: {site: (live, alloc)}. One block of a thread may
    be in progress."""
    bad = {}
    for site, (live, alloc) in read_sites(report).items():
        count = round(live["count"])
        is_full = count in (WINDOW, WINDOW + 1) or (alloc["count"] <= WINDOW + 2 and count >= alloc["count"] - 2)
        if not is_full or not is_window(count, round(live["bytes"])):
            bad[site] = (live, alloc)
    return bad


def figures(report):
    return sorted((s["live"]["bytes"], s["live"]["count"], s["alloc"]["count"]) for s in report["stacks"])


def hangs(pid):
    """Whether a thread is in the handler of windows.c, which blocks all signals that can be blocked."""
    texts = [(task / "status").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    return any("SigBlk:\tfffffffe7ffbfeff" in text for text in texts)


class Looker:
    """Takes snapshots of a process: most by the protocol, every tenth by the command."""

    def __init__(self, daemon, report, folder):
        self.daemon, self.report, self.folder = daemon, report, folder
        self.sock = connect(daemon)
        self.count = self.longest_s = 0

    def take(self, pid):
        """Returns a report; None: the process is gone."""
        file = self.folder / "now.pftrace"
        self.count += 1
        start_s = time.monotonic()
        if self.count % 10 == 0:
            done = self.daemon.ask("snapshot", "-q", "-p", pid, "-o", file)
            trace = done.stderr if done.returncode else None
        else:
            trace = self.ask(pid)
            self.longest_s = max(self.longest_s, time.monotonic() - start_s)
            if isinstance(trace, bytes):
                file.write_bytes(trace)
        if isinstance(trace, str):
            assert "not recorded" in trace or "no session records" in trace or "there is no process" in trace or "not announced itself" in trace, trace
            self.count -= 1
            return None
        return self.report(file, "--top", "all", "--view", "alloc_objects")

    def ask(self, pid):
        try:
            return take_snapshot(self.sock, pid)
        except BrokenPipeError:  # the test was slow, and the daemon closes connections that are silent for ten seconds
            self.sock.close()
            self.sock = connect(self.daemon)
            return take_snapshot(self.sock, pid)

    def check(self, report, threads):
        """One instant of all threads, with nothing lost."""
        assert bad_windows(report) == {}, self.count
        assert len(read_sites(report)) == threads
        assert report["losses"] == []


@pytest.fixture
def looker(daemon, report, tmp_path):
    looker = Looker(daemon, report, tmp_path)
    yield looker
    looker.sock.close()


@pytest.fixture(params=["preloaded", "attached"])
def start(request, daemon, looker, target):
    """start(THREADS): windows.c, recorded in a session of its own. Returns its process and the
    session's name. It hangs on command."""
    started = []

    def call(threads):
        command = [target("windows", "-pthread", "-O2"), "3600", str(threads), "hangs"]
        if request.param == "preloaded":
            name = daemon.begin("-n", "windows-*", "--no-running", "-i", 1)
            process = subprocess.Popen(command, env=daemon.preloaded())
            started.append(process)
        else:
            process = subprocess.Popen(command, env=clean_env())
            started.append(process)
            wait_until(lambda: thread_count(process.pid) == threads, "its threads do not start")
            name = daemon.begin("-p", process.pid, "-i", 1)
        wait_until(lambda: daemon.client(process.pid))
        wait_until(lambda: len(read_sites(looker.take(process.pid))) == threads, "not all threads begin")
        return process, name

    if request.param == "attached":
        need_ptrace()
    yield call
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


def end(daemon, process, name, report):
    """The process is killed; the session's last dump is one instant too."""
    process.kill()
    process.wait()
    wait_until(lambda: daemon.client(process.pid) is None)
    if daemon.session(name)["state"] == "running":
        daemon.ask("stop", name)
    wait_until(lambda: daemon.session(name)["state"] == "done")
    data = report(daemon.session(name)["path"], "--top", "all", "--view", "alloc_objects")
    assert bad_windows(data) == {}
    assert [(p["pid"], p["exit_signal"]) for p in data["processes"]] == [(process.pid, signal.SIGKILL)]


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("count", COUNTS)
def test_stopped(start, daemon, looker, report, count):
    process, name = start(3)
    moments = []
    while looker.count < count:
        let_time_pass(random.random() / 50, "it is stopped at any moment")
        stop_process(process.pid)
        seen = [looker.take(process.pid) for _ in range(8)]
        for one in seen:
            looker.check(one, 3)
        assert all(figures(one) == figures(seen[0]) for one in seen)
        moments.append(figures(seen[0]))
        os.kill(process.pid, signal.SIGCONT)
    print(f"\n{looker.count} snapshots, the longest {looker.longest_s * 1000:.1f} ms")
    # In between it made progress, except where a busy machine did not let it run.
    assert sum(a != b for a, b in zip(moments, moments[1:])) >= len(moments) // 4
    end(daemon, process, name, report)


@pytest.mark.costly
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("how", ["deadlock", "circles"])
def test_hung(start, daemon, looker, report, how, count):
    """One thread never continues, with all signals blocked, wherever it was; in half of the cases
    it holds malloc's lock."""
    deadlocks = 0
    while looker.count < count or (count >= 1000 and not deadlocks):
        process, name = start(3)
        let_time_pass(random.random() / 50, "one of its threads hangs at any moment")
        os.kill(process.pid, signal.SIGUSR1 if how == "deadlock" else signal.SIGUSR2)
        wait_until(lambda: hangs(process.pid), "no thread hangs")
        seen = []
        for _ in range(20):
            seen.append(looker.take(process.pid))
            looker.check(seen[-1], 3)
        deadlocks += figures(seen[0]) == figures(seen[-1])
        if looker.count % 40 == 20:
            # The program cannot cooperate, and need not.
            done = daemon.stop(name)
            assert bad_windows(done.report("--top", "all", "--view", "alloc_objects")) == {}
            process.kill()
            process.wait()
        else:
            end(daemon, process, name, report)
    print(f"\n{looker.count} snapshots, {deadlocks} deadlocks, the longest {looker.longest_s * 1000:.1f} ms")


@pytest.mark.costly
@pytest.mark.parametrize("count", COUNTS)
def test_dying(start, daemon, looker, report, count):
    """Snapshots without a pause, and SIGKILL in the middle of them."""
    died = 0
    while looker.count < count:
        process, name = start(1 + died % 4)
        killer = threading.Timer(random.random() / 5, process.kill)
        killer.start()
        while (seen := looker.take(process.pid)) is not None:
            looker.check(seen, 1 + died % 4)
        killer.join()
        process.wait()
        died += 1
        end(daemon, process, name, report)
    print(f"\n{looker.count} snapshots of {died} processes, the longest {looker.longest_s * 1000:.1f} ms")
