"""Watching: a viewer gets what has changed in a process that is recorded, by run, by attach and by the daemon."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from conftest import let_others_in
from daemon import Daemon
from recordings import NOBODY, OTHER, listed, python, recorder, wait_for_growth
from waiting import let_time_pass, state_of, stop_process, wait_until
from watching import END_PROCESS, Refused, Watch, listening, watching

# As many stacks as it has functions, and nothing moves between two lines of input.
STEPS = """
import sys
kept = []
print("ready", flush=True)
for line in sys.stdin:
    if line.startswith("take"):
        kept.extend(bytearray(20000) for _ in range(int(line.split()[1])))
    else:
        kept.clear()
    print("done", flush=True)
"""


@pytest.fixture
def record(dist, heapscope, tmp_path):
    with recorder(dist, heapscope, tmp_path) as call:
        yield call


def watches_of(heapscope, it):
    found = listed(heapscope, it)
    return found["watches"] if found else []


def stepping(daemon):
    """A program of STEPS in a session of the daemon; call it with a line of input."""
    program = daemon.launch(["/usr/bin/python3", "-c", STEPS])
    assert program.process.stdout.readline() == "ready\n"
    name = daemon.begin("-p", program.pid, "-i", 64)

    def step(line):
        program.process.stdin.write(line + "\n")
        program.process.stdin.flush()
        assert program.process.stdout.readline() == "done\n"

    return program, step, name


def totals_of_snapshot(ask, report, pid, path):
    done = ask("snapshot", "-q", "-p", pid, "-o", path)
    assert done.returncode == 0, done.stderr
    totals = report(path, "--top", "all")["totals"]
    return tuple(totals[which][what] for which in ("live", "alloc") for what in ("bytes", "count"))


def settle(watch):
    """Looks until nothing comes any more: the program is quiet."""
    watch.look()
    watch.ask()
    watch.sock.settimeout(0.5)
    try:
        while (update := watch.take()) is not None:
            assert not update.get(5, [0])[0]
            watch.ask()
    except TimeoutError:
        pass
    watch.sock.settimeout(60)


@pytest.mark.parametrize("command", ["run", "attach"])
def test_rows_are_those_of_a_snapshot(record, heapscope, report, tmp_path, command):
    it = record(command, python())
    wait_for_growth(heapscope, it)
    with watching(listening(it.process.pid), it.pid) as watch:
        for _ in range(5):
            watch.look()
        assert len(watch.rows) > (10 if command == "run" else 1) and watch.process[2][0].startswith(b"python3")
        stop_process(it.pid)
        settle(watch)
        now = totals_of_snapshot(heapscope, report, it.pid, tmp_path / "now.pftrace")
        assert watch.totals()[0] == now[0] and watch.sums()[0] == now[0] > 100_000
        assert watch.totals()[2] == now[2] and watch.sums()[2] == now[2]
        assert watch.sums() == pytest.approx(now, rel=1e-6)
        before = watch.sums()
        os.kill(it.pid, signal.SIGCONT)
        watch.take()  # it was asked for
        while watch.row_count == 0:  # a ledger, or the resident memory
            watch.look()
        assert watch.row_count < len(watch.rows) or command == "attach", "only what has changed: the interpreter has started"
        assert watch.sums()[2] > before[2]


def test_changed_rows_of_a_session_of_the_daemon(daemon, report, tmp_path):
    program, step, _ = stepping(daemon)
    with watching(daemon.socket, program.pid) as watch:
        step("take 100")
        settle(watch)
        known = len(watch.stacks)
        before = watch.sums()
        step("take 500")
        watch.take()
        settle(watch)
        assert before[0] + 500 * 20000 <= watch.sums()[0] < before[0] + 500 * 20000 * 1.1
        assert len(watch.stacks) < known + 20
        now = totals_of_snapshot(daemon.ask, report, program.pid, tmp_path / "now.pftrace")
        assert watch.sums()[0] == now[0] and watch.sums()[2] == now[2]
        assert watch.totals()[0] == now[0] and watch.totals()[1] == pytest.approx(now[1], rel=1e-6)
        step("clear")
        watch.take()
        settle(watch)
        assert watch.sums()[0] < now[0] - 10_000_000


def test_the_figures_of_the_process(daemon):
    program, step, _ = stepping(daemon)
    step("take 3000")
    with watching(daemon.socket, name="python3") as watch:
        assert watch.watched[1] == [program.pid] and watch.watched[4] == [100]
        watch.look()
        rss, anon = watch.process[7][0], watch.process[8][0]
        status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
        kib = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.endswith(" kB")}
        assert abs(rss - kib["VmRSS"] * 1024) < 2 << 20 and abs(anon - kib["RssAnon"] * 1024) < 2 << 20
        assert watch.process[18] == [program.pid] and watch.process[5] == [64]
        assert "libc.malloc" in watch.heaps.values()
        assert any(path.endswith("python3.11") or "python3" in path for path in watch.modules)


def test_a_viewer_that_does_not_ask(daemon, heapscope):
    program, step, _ = stepping(daemon)
    with watching(daemon.socket, program.pid) as watch:
        watch.look()
        (listed_one,) = daemon.list()["watches"]
        worker = listed_one["worker_pid"]
        wait_until(lambda: daemon.list()["watches"][0]["is_waiting"])
        used = daemon.list()["watches"][0]["cpu_ns"]
        looks = daemon.list()["watches"][0]["look_count"]
        resident = pathlib.Path(f"/proc/{worker}/statm").read_text().split()[1]
        for n in range(10):
            step("take 50")
        let_time_pass(1, "an idle worker looks at nothing for this time")
        one = daemon.list()["watches"][0]
        assert one["cpu_ns"] - used < 2_000_000 and one["look_count"] == looks and one["cpu_share"] == 0
        assert pathlib.Path(f"/proc/{worker}/statm").read_text().split()[1] == resident
        before = watch.sums()
        watch.look()  # ten changes in one
        assert watch.sums()[0] >= before[0] + 500 * 20000
        text = daemon.ask("list").stdout
        assert "VIEWER" in text and "waits" in text and str(os.getpid()) in text


def test_the_end_of_the_viewer(daemon):
    program, _, _ = stepping(daemon)
    watch = Watch(daemon.socket, program.pid)
    watch.look()
    worker = daemon.list()["watches"][0]["worker_pid"]
    watch.close()
    wait_until(lambda: not daemon.list()["watches"])
    wait_until(lambda: state_of(worker) == "", "the worker is a zombie")
    other = Watch(daemon.socket, program.pid)  # and one that ends while an update is due
    other.ask()
    other.close()
    wait_until(lambda: not daemon.list()["watches"])


@pytest.mark.parametrize("command", ["run", "attach"])
def test_the_end_of_the_program(record, heapscope, report, command):
    it = record(command, python())
    wait_for_growth(heapscope, it)
    with watching(listening(it.process.pid), it.pid) as watch:
        watch.look()
        watch.ask()
        os.kill(it.pid, signal.SIGKILL)
        if it.target:
            it.target.wait()
        while watch.end == 0 and watch.take():
            watch.ask() if watch.end == 0 else None
        assert watch.end == END_PROCESS
        assert watch.take() is None
        assert it.process.wait(60) == (128 + signal.SIGKILL if command == "run" else 0), it.said.read_text()
        assert watch.sums()[2] == report(it.file)["totals"]["alloc"]["bytes"]


def test_the_end_of_the_session(daemon):
    program, step, name = stepping(daemon)
    with watching(daemon.socket, program.pid) as watch:
        watch.look()
        daemon.stop(name)
        while watch.end == 0:
            watch.ask()
            assert watch.take()
        assert watch.end == END_PROCESS
    with pytest.raises(Refused, match=f"process {program.pid} is not recorded any more"):
        Watch(daemon.socket, program.pid)
    step("take 1")  # it runs on


def test_a_worker_that_is_killed(daemon):
    program, step, _ = stepping(daemon)
    with watching(daemon.socket, program.pid) as watch:
        watch.look()
        worker = daemon.list()["watches"][0]["worker_pid"]
        os.kill(worker, signal.SIGKILL)
        assert watch.take() is None
        wait_until(lambda: not daemon.list()["watches"])
    step("take 10")
    with watching(daemon.socket, program.pid) as watch:
        watch.look()
        assert watch.sums()[0] > 10 * 20000


def test_a_collector_that_is_killed(record, heapscope):
    it = record("run", python())
    wait_for_growth(heapscope, it)
    with watching(listening(it.process.pid), it.pid) as watch:
        watch.look()
        worker = watches_of(heapscope, it)[0]["worker_pid"]
        it.process.kill()
        it.process.wait()
        watch.ask()
        while watch.end == 0 and watch.take():
            watch.ask() if watch.end == 0 else None
        assert watch.end == END_PROCESS
        wait_until(lambda: state_of(worker) in ("", "Z"))


def test_what_is_no_request_to_a_worker(daemon):
    program, _, _ = stepping(daemon)
    for data in (b"x", b"\0" * 24, os.urandom(4096)):
        with watching(daemon.socket, program.pid) as watch:
            watch.look()
            watch.sock.send(data)
            assert watch.take() is None
    wait_until(lambda: not daemon.list()["watches"])


def test_who_may_watch(record, heapscope, dist, tmp_path):
    it = record("run", python())
    with pytest.raises(Refused, match="no such process is recorded"):
        Watch(listening(it.process.pid), name="no-such-name")
    with pytest.raises(Refused, match="process 1 is not recorded"):
        Watch(listening(it.process.pid), 1)
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    let_others_in(pathlib.Path(__file__).parent)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import watching\n" \
           "try: watching.Watch('\\0' + sys.argv[2], int(sys.argv[3]))\n" \
           "except watching.Refused as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code, pathlib.Path(__file__).parent, listening(it.process.pid)[1:], str(it.pid)],
                          user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, check=False)
    assert "records for another user" in done.stdout, done.stderr
    assert not watches_of(heapscope, it)


def test_too_many(daemon):
    program, _, _ = stepping(daemon)
    open_ones = []
    try:
        with pytest.raises(Refused, match="too many viewers"):
            while len(open_ones) < 65:
                open_ones.append(Watch(daemon.socket, program.pid))
        assert len(open_ones) == (64 if os.geteuid() == 0 else 16)
        assert len(daemon.list()["watches"]) == len(open_ones)
    finally:
        for watch in open_ones:
            watch.close()
    wait_until(lambda: not daemon.list()["watches"])
    Watch(daemon.socket, program.pid).close()


AS_USER = "import json, sys; sys.path.insert(0, sys.argv[1]); import watching\n" \
          "try: watch = watching.Watch(sys.argv[2], int(sys.argv[3]))\n" \
          "except watching.Refused as e: print('refused:', e); sys.exit()\n" \
          "watch.look(); print(watch.sums()[0], flush=True); sys.stdin.read()"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_users_of_the_machines_daemon(dist, heapscope, report, folder):
    """A user watches what is recorded for this user, by a worker with the rights of this user; others are refused."""
    let_others_in(pathlib.Path(__file__).parent)
    daemon = Daemon(dist, heapscope, report, folder, ("--system",))
    try:
        program = daemon.launch(["/usr/bin/python3", "-c", STEPS], user=NOBODY, group=NOBODY, extra_groups=[])
        assert program.process.stdout.readline() == "ready\n"
        daemon.begin("-p", program.pid, "-i", 64)
        program.process.stdin.write("take 100\n")
        program.process.stdin.flush()
        assert program.process.stdout.readline() == "done\n"

        def view(user):
            return subprocess.Popen([sys.executable, "-c", AS_USER, pathlib.Path(__file__).parent, daemon.socket, str(program.pid)],
                                    user=user, group=user, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        with view(NOBODY) as viewer:
            assert float(viewer.stdout.readline()) > 100_000
            (one,) = daemon.list()["watches"]
            assert (one["viewer_uid"], one["viewer_pid"]) == (NOBODY, viewer.pid)
            status = pathlib.Path(f"/proc/{one['worker_pid']}/status").read_text()
            assert re.search(rf"^Uid:(\t{NOBODY}){{4}}$", status, re.MULTILINE) and re.search(r"^CapPrm:\t0+$", status, re.MULTILINE)
            assert len(os.listdir(f"/proc/{one['worker_pid']}/fd")) <= 6
            viewer.stdin.close()
            viewer.wait(30)
        with view(OTHER) as viewer:
            assert viewer.stdout.readline() == f"refused: process {program.pid} is not recorded any more\n"
            viewer.stdin.close()
    finally:
        daemon.stop_all()
