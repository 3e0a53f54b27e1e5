"""A program that the kernel kills because memory runs out: its last profile is complete, and says
so."""

import pathlib
import shlex
import signal
import subprocess
import time

import pytest
from conftest import clean_env
from daemon import Daemon
from resident import Attached, need_ptrace
from truth import Amounts, new_truth, read_sites, read_truth
from waiting import wait_for_state, wait_until


@pytest.fixture
def cgroup():
    """A memory cgroup with a limit of 64 MiB; version 2 or 1, depending on the machine."""
    own = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    places = []
    for line in own:
        _, names, folder = line.split(":", 2)
        if names == "" and pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists():
            places.append((pathlib.Path("/sys/fs/cgroup" + folder), {"memory.max": "64M", "memory.swap.max": "0"}))
        elif "memory" in names.split(","):
            places.append((pathlib.Path("/sys/fs/cgroup/memory" + folder), {"memory.limit_in_bytes": "64M"}))
    for place, limits in places:
        made = place / f"heapscope-{time.monotonic_ns()}"
        try:
            made.mkdir()
            for name, limit in limits.items():
                if name != "memory.swap.max" or (made / name).exists():
                    (made / name).write_text(limit)
            yield made
            made.rmdir()
            return
        except OSError as error:
            if made.exists():
                made.rmdir()
            reason = error
    pytest.skip(f"no memory cgroup can be made here: {reason if places else 'there is none'}")


def assert_last_profile(data, truth_path):
    (process,) = data["processes"]
    assert process["exit_signal"] == signal.SIGKILL and process["is_oom_killed"]
    assert process["end"] == "killed by the kernel's OOM killer"
    assert not data["losses"]
    truth, found = read_truth(truth_path), read_sites(data)
    assert truth["site_hungry"].live_bytes > 20 << 20
    for name, told in truth.items():
        difference = found.get(name, Amounts()) - told
        assert abs(difference.live_count) <= 1 and abs(difference.live_bytes) <= 51000, (name, difference)


def test_run(cgroup, dist, report, target, tmp_path):
    truth, file = new_truth(tmp_path), tmp_path / "x.pftrace"
    script = f'echo $$ > {cgroup}/cgroup.procs; exec {shlex.quote(target("hungry"))}'
    done = subprocess.run(
        [dist / "bin" / "heapscope", "run", "-q", "-i", "1", "-o", file, "--", "/bin/sh", "-c", script],
        env=clean_env(TRUTH_FILE=truth), input="go\n", capture_output=True, text=True, check=False, timeout=60,
    )
    assert done.returncode == 128 + signal.SIGKILL
    data = report(file, "--top", "all", "--view", "alloc_objects")
    data["processes"] = [p for p in data["processes"] if p["name"] != "sh"]
    assert_last_profile(data, truth)


def test_attached(cgroup, dist, report, target, tmp_path):
    """Only its own parent may wait for it, and that parent waits late."""
    need_ptrace()
    truth = new_truth(tmp_path)
    program = subprocess.Popen(
        [target("hungry")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env(TRUTH_FILE=truth)
    )
    try:
        program.stdout.readline()
        (cgroup / "cgroup.procs").write_text(str(program.pid))
        session = Attached(dist, tmp_path / "x.pftrace", program.pid)
        wait_for_state(program.pid, "S")  # it waits for its order again
        program.stdin.write("go\n")
        program.stdin.flush()
        assert session.wait() == 0, session.said
    finally:
        program.kill()
        program.wait()
    assert_last_profile(report(tmp_path / "x.pftrace", "--top", "all", "--view", "alloc_objects"), truth)


@pytest.mark.parametrize("how", ["preloaded", "attached"])
def test_session(cgroup, dist, heapscope, report, target, tmp_path, how):
    """Recorded by a daemon, which is in another cgroup."""
    truth, file = new_truth(tmp_path), tmp_path / "x.pftrace"
    if how == "attached":
        need_ptrace()
    daemon = Daemon(dist, heapscope, report, tmp_path)
    env = daemon.preloaded(TRUTH_FILE=truth) if how == "preloaded" else clean_env(TRUTH_FILE=truth)
    program = subprocess.Popen([target("hungry")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    try:
        program.stdout.readline()
        (cgroup / "cgroup.procs").write_text(str(program.pid))
        name = daemon.begin("-p", program.pid, "-i", 1, "-o", file)
        wait_until(lambda: daemon.session(name)["running_count"] == 1)
        wait_for_state(program.pid, "S")  # it waits for its order again
        program.stdin.write("go\n")
        program.stdin.flush()
        wait_until(lambda: daemon.session(name)["state"] == "done")
    finally:
        program.kill()
        program.communicate()
        daemon.stop_all()
    assert_last_profile(report(file, "--top", "all", "--view", "alloc_objects"), truth)
