"""--children: processes that existed before their parent was recorded."""

import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace
from waiting import let_time_pass, wait_for_samples, wait_until

# A tree of four: the first forks one and executes a second, which executes a third. Each prints its
# pid and continues to allocate.
TREE = """
import os, subprocess, sys, time
depth = int(sys.argv[1])
if depth > 0:
    subprocess.Popen([sys.executable, "-c", sys.orig_argv[2], str(depth - 1)])
if depth == 2:
    os.fork()
os.write(1, f"{os.getpid()}\\n".encode())  # in one piece: four write to this pipe
while True:
    kept = [bytes(100_000) for _ in range(50)]
    time.sleep(0.005)
"""


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


@pytest.fixture
def tree():
    process = subprocess.Popen(["/usr/bin/python3", "-c", TREE, "2"], stdout=subprocess.PIPE, text=True,
                               env=clean_env(), start_new_session=True)
    pids = {int(process.stdout.readline()) for _ in range(4)}
    assert process.pid in pids and len(pids) == 4
    yield process.pid, pids
    for pid in pids:
        subprocess.run(["kill", "-9", str(pid)], check=False)
    process.wait()
    process.stdout.close()


@pytest.mark.costly
def test_attach(tree, attach, heapscope, report):
    root, pids = tree
    for options, meant in (((), {root}), (("--children",), pids)):
        session = attach(root, options=options)
        assert session.is_recording, session.said
        wait_for_samples(heapscope, session.name, 200, meant)
        assert session.stop() == 0, session.said
        assert {p["pid"] for p in report(session.file)["processes"]} == meant, session.said
        for pid in meant:
            assert report(session.file, "--pid", str(pid))["totals"]["alloc"]["bytes"] > 1_000_000


@pytest.mark.costly
def test_a_session_of_the_daemon(tree, daemon):
    root, pids = tree
    session = daemon.begin("-p", str(root), "--children")
    wait_until(lambda: {c["pid"] for c in daemon.list()["clients"] if c["session"] == session} == pids)
    done = daemon.stop(session)
    assert {p["pid"] for p in done.report()["processes"]} == pids


def test_none_without_being_asked(tree, daemon):
    root, _ = tree
    session = daemon.begin("-p", str(root))
    wait_until(lambda: any(c["session"] == session for c in daemon.list()["clients"]))
    let_time_pass(0.5, "no other process shall join")
    assert {p["pid"] for p in daemon.stop(session).report()["processes"]} == {root}
