"""Sessions of `heapscope record`: which processes that start later are included, to which session
they belong, and which are rejected."""

import os
import pathlib
import signal
import subprocess

import pytest
from conftest import clean_env
from test_record_processes import PYTHON, end, is_recorded, recording, without_daemon
from waiting import let_time_pass, wait_until

ALLOCATES = "import time\nwhile True: x = [bytes(3000) for i in range(100)]; time.sleep(0.01)"


def rejected(heapscope, file):
    """How many process dumps of the trace have the field that heapprofd sets for processes of other
    sessions."""
    text = heapscope("query", "--format", "csv", file,
                     "SELECT value FROM stats WHERE name = 'heapprofd_rejected_concurrent'").stdout
    return int(text.split()[-1])


def dead_pid():
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    return gone.pid


def test_daemon_attaches_to_what_starts_later(dist, daemon, report, tmp_path):
    """Without the library, by name."""
    out = tmp_path / "out"
    with recording(dist, out, "-i", "64", "-n", "keeper", env=clean_env(**daemon.env)) as run:
        with subprocess.Popen(["keeper", "-c", ALLOCATES], executable=PYTHON, env=clean_env()) as later, \
             subprocess.Popen(["other", "-c", ALLOCATES], executable=PYTHON, env=clean_env()) as other:
            try:
                wait_until(lambda: daemon.session(f"record.{run.pid}")["sample_count"] > 200, "it is not recorded")
                end(run)
                assert later.poll() is None and other.poll() is None
            finally:
                later.kill()
                other.kill()
    said = report(out / "raw-trace")
    assert [p["pid"] for p in said["processes"]] == [later.pid]
    assert said["totals"]["alloc"]["bytes"] > 100_000


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_session_ends_with_its_command(dist, daemon, report, tmp_path, how):
    """What was recorded until then is kept; another session may use the name and the process."""
    out = tmp_path / "out"
    process = subprocess.Popen(["keeper", "-c", ALLOCATES], executable=PYTHON, env=clean_env())
    try:
        with recording(dist, out, "-i", "64", "-n", "keeper", env=clean_env(**daemon.env)) as run:
            name = f"record.{run.pid}"
            wait_until(lambda: daemon.session(name)["process_count"])
            wait_until(lambda: daemon.session(name)["sample_count"] > 1000)
            if how == signal.SIGSTOP:
                os.kill(run.pid, how)
                with pytest.raises(subprocess.TimeoutExpired):
                    run.wait(3)
                assert daemon.session(name)["state"] == "running", "it is there, if it stands still"
            run.kill()
            run.wait()
            wait_until(lambda: not any(s["session"] == name and s["state"] == "running" for s in daemon.list()["sessions"]),
                       "the session goes on")
        wait_until((out / "raw-trace").exists, "what was recorded is gone")
        assert report(out / "raw-trace")["totals"]["alloc"]["bytes"] > 100_000
        again = tmp_path / "again"
        with recording(dist, again, "-i", "64", "-n", "keeper", env=clean_env(**daemon.env)) as run:
            wait_until(lambda: daemon.session(f"record.{run.pid}")["process_count"])
            end(run)
        assert report(again / "raw-trace")["processes"][0]["pid"] == process.pid
    finally:
        process.kill()
        process.wait()


def test_command_that_is_killed_as_it_begins(dist, daemon, tmp_path):
    """At any moment: also between its request and its wait for the end."""
    for i in range(25):
        out = tmp_path / f"out{i}"
        out.mkdir()
        with subprocess.Popen([dist / "bin" / "heapscope", "record", "-n", "nobody", "-o", out], env=clean_env(**daemon.env),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            let_time_pass(0.001 * (i % 25), "it is killed at any moment")
            run.kill()
    wait_until(lambda: not [s for s in daemon.list()["sessions"] if s["state"] == "running"], "a session does not end")


def test_a_started_session_goes_on(daemon):
    """`heapscope start` ends at once; its session continues."""
    name = daemon.begin("-n", "keeper")
    let_time_pass(3, "nothing shall happen: the daemon ends sessions of commands that went away sooner")
    assert daemon.session(name)["state"] == "running"
    daemon.ask("stop", name)


def test_rejected_against_run_without_daemon(dist, heapscope, tmp_path):
    """A process of `run` belongs to another session; the trace says so as heapprofd's does."""
    out = tmp_path / "out"
    out.mkdir()
    with subprocess.Popen([dist / "bin" / "heapscope", "run", "-q", "-o", tmp_path / "run", "--", PYTHON, "-c", ALLOCATES],
                          env=without_daemon(tmp_path)) as run:
        try:
            children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children")
            wait_until(lambda: children.read_text() and is_recorded(dist, children.read_text().split()[0]))
            pid = children.read_text().split()[0]
            done = subprocess.run([dist / "bin" / "heapscope", "record", "-p", pid, "-d", "500", "-o", out],
                                  capture_output=True, text=True, timeout=60, env=without_daemon(tmp_path), check=False)
        finally:
            run.terminate()
            run.wait()
    assert done.returncode == 1 and "profiled already" in done.stderr, done
    assert rejected(heapscope, out / "raw-trace") == 1


def test_rejected_against_run_with_daemon(dist, daemon, heapscope, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with subprocess.Popen([dist / "bin" / "heapscope", "run", "-q", "-o", tmp_path / "run", "--", PYTHON, "-c", ALLOCATES],
                          env=clean_env(**daemon.env)) as run:
        try:
            children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children")
            wait_until(lambda: children.read_text() and is_recorded(dist, children.read_text().split()[0]))
            pid = children.read_text().split()[0]
            done = subprocess.run([dist / "bin" / "heapscope", "record", "-p", pid, "-d", "1000", "-o", out],
                                  capture_output=True, text=True, timeout=60, env=clean_env(**daemon.env), check=False)
        finally:
            run.terminate()
            run.wait()
    assert done.returncode == 1 and "rejected due to a concurrent profile" in done.stderr, done
    assert rejected(heapscope, out / "raw-trace") == 1


@pytest.mark.parametrize("has_daemon", [False, True])
def test_dead_pids_are_passed_over(dist, daemon, report, tmp_path, has_daemon):
    env = clean_env(**daemon.env) if has_daemon else without_daemon(tmp_path)
    out, gone = tmp_path / "out", dead_pid()
    with subprocess.Popen([PYTHON, "-c", ALLOCATES], env=clean_env()) as process:
        try:
            with recording(dist, out, "-i", "64", "-p", f"{gone},{process.pid}", env=env) as run:
                wait_until(lambda: is_recorded(dist, process.pid) or has_daemon and daemon.session(f"record.{run.pid}")["process_count"])
                err = end(run)
        finally:
            process.kill()
    assert str(gone) in err, "said once"
    assert [p["pid"] for p in report(out / "raw-trace")["processes"]] == [process.pid]


def test_dead_pids_of_attach(dist, report, tmp_path):
    gone = dead_pid()
    with subprocess.Popen([PYTHON, "-c", ALLOCATES], env=clean_env()) as process:
        try:
            done = subprocess.run([dist / "bin" / "heapscope", "attach", str(gone), str(process.pid), "-d", "500ms",
                                   "-o", tmp_path / "x"], capture_output=True, text=True, timeout=60, env=clean_env(), check=False)
            none = subprocess.run([dist / "bin" / "heapscope", "attach", str(gone), "-d", "500ms", "-o", tmp_path / "y"],
                                  capture_output=True, text=True, timeout=60, env=clean_env(), check=False)
        finally:
            process.kill()
    assert done.returncode == 0 and str(gone) in done.stderr, done
    assert [p["pid"] for p in report(tmp_path / "x")["processes"]] == [process.pid]
    assert none.returncode != 0 and str(gone) in none.stderr and not (tmp_path / "y").exists()
