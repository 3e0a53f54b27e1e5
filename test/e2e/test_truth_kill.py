"""A program that is killed loses nothing that was recorded before."""

import json
import os
import signal
import subprocess

import pytest
from conftest import clean_env
from truth import Amounts, new_truth, read_sites, read_truth
from waiting import let_time_pass


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("after", [0.05, 1.0])
def test_sigkill(dist, report, target, tmp_path, threads, after):
    """At that moment each thread may have one operation half done, and no more."""
    path = new_truth(tmp_path)
    file = tmp_path / "killed.pftrace"
    heapscope = str(dist / "bin" / "heapscope")
    program = [target("endless", "-pthread"), str(threads)]
    command = [heapscope, "run", "-q", "-i", "1", "-o", str(file), "--", *program]
    with subprocess.Popen(
        command, env=clean_env(TRUTH_FILE=path), stdout=subprocess.PIPE, text=True
    ) as run:
        pid = int(run.stdout.readline())
        let_time_pass(after, "the program is killed at any moment")
        os.kill(pid, signal.SIGKILL)
        assert run.wait(timeout=60) == 128 + signal.SIGKILL
    data = report(file, "--top", "all", "--view", "alloc_objects")
    assert data["processes"][0]["exit_signal"] == signal.SIGKILL
    assert data["losses"] == []
    truth, found = read_truth(path), read_sites(data)
    assert sum(t.alloc_count for t in truth.values()) > 1000
    in_flight = threads + 1
    total = Amounts()
    for name in truth.keys() | found.keys():
        difference = found.get(name, Amounts()) - truth.get(name, Amounts())
        total += Amounts(*map(abs, difference))
        assert abs(difference.live_bytes) <= 1000 * in_flight, (name, difference)
    # A realloc counts at its old size and at its new one.
    assert total.live_count <= 2 * in_flight, json.dumps(total)
    assert total.alloc_count <= in_flight, json.dumps(total)


def test_own_malloc_is_reported(run, target):
    """A program with an allocator of its own whose free has no room for a jump cannot be seen: that is said."""
    done = run([target("own_malloc", "-fno-builtin")], "-i", 1)
    assert done.stdout == "hello from my own heap\n"
    assert "its free: it is too short" in done.stderr
    data = done.report()
    assert data["processes"][0]["has_own_malloc"]
    assert data["totals"]["alloc"]["count"] == 0
