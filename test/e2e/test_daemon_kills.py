"""SIGKILL for programs that a session of the daemon records: whatever they were doing, what was
recorded is in the file."""

import os
import random
import signal
import subprocess

import pytest
from conftest import clean_env
from preload import preloadable
from resident import Resident, differences, need_ptrace
from truth import Amounts, new_truth, read_sites, read_truth
from waiting import let_time_pass, stop_process, wait_until

ALL = ("--top", "all", "--view", "alloc_objects")


def report_of(daemon, name, pid):
    """A session by pid ends with its process; a session by name is stopped."""
    wait_until(lambda: daemon.session(name)["running_count"] == 0)
    if not daemon.session(name)["pids"]:
        daemon.ask("stop", name)
    wait_until(lambda: daemon.session(name)["state"] != "running" and daemon.session(name)["state"] != "finishing")
    report = daemon.stop(name).report(*ALL)
    assert [(p["pid"], p["exit_signal"]) for p in report["processes"]] == [(pid, signal.SIGKILL)]
    assert report["losses"] == []
    wait_until(lambda: daemon.client(pid) is None)
    return report


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("after", [0.05, 0.5])
def test_at_work(daemon, target, tmp_path, threads, after):
    """At that moment each thread may be in the middle of one operation, and no more."""
    path = new_truth(tmp_path)
    name = daemon.begin("-n", "endless-*", "-i", 1, "--no-running")
    process = subprocess.Popen([target("endless", "-pthread"), str(threads)], env=daemon.preloaded(TRUTH_FILE=path),
                               stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    let_time_pass(after, "the program is killed at any moment")
    process.kill()
    process.communicate()
    report = report_of(daemon, name, process.pid)
    truth, found = read_truth(path), read_sites(report)
    assert sum(t.alloc_count for t in truth.values()) > 1000
    total = Amounts()
    for site in truth.keys() | found.keys():
        total += Amounts(*map(abs, found.get(site, Amounts()) - truth.get(site, Amounts())))
    assert total.live_count <= 2 * (threads + 1) and total.alloc_count <= threads + 1, total


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("state", ["asleep", "stopped", "zombie"])
@pytest.mark.parametrize("how", ["preloaded", "attached"])
def test_in_a_state(daemon, target, tmp_path, how, state):
    program = target("resident", "-pthread", "-ldl")
    if how == "attached":
        need_ptrace()
        resident = Resident(program, tmp_path)
    else:
        resident = Resident(program, tmp_path, LD_PRELOAD=preloadable(daemon.dist / "lib" / "libheapscope_preload.so"), **daemon.env)
    try:
        resident.tell("before")
        name = daemon.begin("-p", resident.pid, "-i", 1)
        wait_until(lambda: daemon.client(resident.pid) and daemon.client(resident.pid).get("session") == name)
        resident.tell("work", "threads")
        if state == "stopped":
            stop_process(resident.pid)
        os.kill(resident.pid, signal.SIGKILL)
        if state != "zombie":
            resident.process.wait()
        found, sites = differences(report_of(daemon, name, resident.pid), read_truth(resident.truth_path))
        assert not found and "site_thread" in sites
    finally:
        resident.stop()


def test_dormant(daemon, target):
    """Nothing of it is left, and no command waits for it."""
    program = daemon.phases(target)
    name = daemon.begin("-n", "nobody")
    program.process.kill()
    wait_until(lambda: daemon.client(program.pid) is None)
    assert daemon.session(name)["process_count"] == 0


def test_parent_of_one_that_goes_on(daemon, target, tmp_path):
    """Its child is recorded as before."""
    path = new_truth(tmp_path)
    code = "import os, time\npid = os.fork()\nif pid == 0:\n x = []\n" \
           " while True: x.append(bytes(100000)); time.sleep(0.005)\nprint(pid, flush=True)\nos.wait()"
    script = daemon.folder / "hs-orphan.py"
    script.write_text(code)
    process = daemon.launch(["/usr/bin/python3", script])
    child = int(process.process.stdout.readline())
    try:
        name = daemon.begin("-p", process.pid)
        wait_until(lambda: daemon.session(name)["running_count"] == 2)
        process.process.kill()
        process.process.wait()
        wait_until(lambda: daemon.session(name)["running_count"] == 1)
        samples = daemon.session(name)["sample_count"]
        wait_until(lambda: daemon.session(name)["sample_count"] > samples + 20)
        assert daemon.session(name)["state"] == "running"
    finally:
        os.kill(child, signal.SIGKILL)
    wait_until(lambda: daemon.session(name)["state"] == "done")
    processes = {p["pid"]: p for p in daemon.stop(name).report()["processes"]}
    assert processes.keys() == {process.pid, child}
    assert processes[child]["exit_signal"] == processes[process.pid]["exit_signal"] == signal.SIGKILL
    assert processes[child]["alloc"]["count"] > 20
    assert not path.read_bytes().strip(b"\0")


@pytest.mark.costly
@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_while_the_client_comes_or_goes(daemon, target, count):
    """The program is killed at any moment of attaching or detaching: the session ends, and the
    daemon keeps working."""
    need_ptrace()
    program = target("resident", "-pthread", "-ldl")
    files = 0
    for i in range(count):
        process = subprocess.Popen([program], env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdin.write("busy\n")
        process.stdin.flush()
        process.stdout.readline()
        name = daemon.begin("-p", process.pid, "-i", 4096)
        if i % 2:
            wait_until(lambda: daemon.session(name)["running_count"] == 1)
            daemon.ask("stop", name)
        let_time_pass(random.random() / 50, "the program is killed at any moment")
        process.kill()
        process.communicate()
        wait_until(lambda: daemon.session(name)["state"] in ("done", "failed"))
        files += daemon.session(name)["state"] == "done"
        assert i % 2 == 0 or daemon.session(name)["state"] == "done"
        wait_until(lambda: daemon.client(process.pid) is None)
    assert files >= count // 2
    assert daemon.list()["clients"] == []
    assert daemon.end() == 0
