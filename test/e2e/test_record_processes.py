"""heapscope record without a command: a session of the daemon if one runs, otherwise processes as
they are noticed."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading

import pytest
from conftest import clean_env
from waiting import wait_until

PYTHON = "/usr/bin/python3"
# Keeps 4 MB as long as its standard input is open, and prints when it has them.
KEEPS = "import sys; x = [bytes(4000) for i in range(1000)]; print('kept', flush=True); sys.stdin.read()"


@contextlib.contextmanager
def recording(dist, folder, *args, env, config=None):
    """A running `heapscope record`, which has begun."""
    folder.mkdir()
    command = [dist / "bin" / "heapscope", "record", "-o", folder, *args]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as run:
        guard = threading.Timer(100, run.kill)
        guard.start()
        try:
            if config:
                run.stdin.write(config)
                run.stdin.close()
                run.stdin = None
            line = run.stdout.readline()
            assert line == "Profiling active. Press Ctrl+C to terminate.\n", run.stderr.read()
            yield run
        finally:
            run.kill()
            guard.cancel()


def end(run, how=signal.SIGINT):
    if how:
        run.send_signal(how)
    out, err = run.communicate(timeout=100)
    assert run.returncode == 0, err
    assert "Wrote profiles to" in out
    return err


@contextlib.contextmanager
def keeper(env, name="keeper"):
    with subprocess.Popen([name, "-c", KEEPS], executable=PYTHON, env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "kept\n"
            yield process
        finally:
            process.kill()


def without_daemon(tmp_path):
    return clean_env(HEAPSCOPE_SOCKET=tmp_path / "nobody")


def config(fields, more=""):
    return ('data_sources { config { name: "android.heapprofd" heapprofd_config { sampling_interval_bytes: 64 '
            f"{fields} }} }} }} {more}")


def test_daemon_records_what_starts_later(dist, daemon, report, tmp_path):
    out = tmp_path / "out"
    with recording(dist, out, "-i", "64", "-n", "keeper", env=clean_env(**daemon.env)) as run:
        with keeper(daemon.preloaded()) as process:
            run.send_signal(signal.SIGUSR1)
            wait_until(lambda: daemon.session(f"record.{run.pid}")["dump_count"] == 1)
            assert end(run) == ""
            assert process.poll() is None
    files = sorted(file.name for file in out.iterdir())
    assert files == [f"heap_dump.{n}.{process.pid}.libc.malloc.pb.gz" for n in (1, 2)] + ["raw-trace"]
    assert b"android.heapprofd" in (out / "raw-trace").read_bytes()[:200]
    said = report(out / "raw-trace")
    assert said["totals"]["live"]["bytes"] > 4_000_000
    assert [p["pid"] for p in said["processes"]] == [process.pid]


def test_daemon_takes_a_config(dist, daemon, report, tmp_path):
    """All processes that start, without names for a folder's code; the session ends by itself."""
    out = tmp_path / "out"
    text = config('all: true no_running: true skip_symbol_prefix: "/usr/bin/pyth"', "duration_ms: 3000")
    with keeper(daemon.preloaded(), "before"):
        with recording(dist, out, "-c", "-", env=clean_env(**daemon.env), config=text) as run:
            with keeper(daemon.preloaded()) as process:
                end(run, None)
    assert [p["pid"] for p in report(out / "raw-trace")["processes"]] == [process.pid]
    asked = subprocess.run([dist / "bin" / "heapscope", "query", "--format", "csv", out / "raw-trace",
                            "SELECT DISTINCT f.name FROM stack_profile_frame f JOIN stack_profile_mapping m "
                            "ON f.mapping = m.id WHERE m.name LIKE '/usr/bin/python3%'"],
                           capture_output=True, text=True, timeout=60, check=True).stdout
    assert asked.split() == ['"name"', '"FILTERED"'] or asked.split() == ["name", "FILTERED"], asked


def test_daemon_that_is_killed(dist, daemon, report, tmp_path):
    out = tmp_path / "out"
    with recording(dist, out, "-i", "64", "-n", "keeper", env=clean_env(**daemon.env)) as run:
        with keeper(daemon.preloaded()) as process:
            wait_until(lambda: daemon.client(process.pid))
            os.kill(daemon.pid, signal.SIGKILL)
            daemon.process.wait(30)
            daemon.start()
            end(run)
    assert report(out / "raw-trace")["totals"]["live"]["bytes"] > 4_000_000
    assert b"android.heapprofd" in (out / "raw-trace").read_bytes()[:200]


def test_daemon_that_is_a_zombie(daemon):
    """The daemon was killed, and its parent has not waited for it yet: no daemon answers, and the
    command does not wait for one."""
    os.kill(daemon.pid, signal.SIGKILL)
    os.waitid(os.P_PID, daemon.pid, os.WEXITED | os.WNOWAIT)
    done = daemon.ask("list", timeout=20)
    assert done.returncode == 1 and "was killed; its recordings are kept" in done.stderr, done
    daemon.process.wait(30)


def test_pids_that_cannot_be(dist, daemon, tmp_path):
    out = tmp_path / "out"
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    out.mkdir()
    done = subprocess.run([dist / "bin" / "heapscope", "record", "-p", str(gone.pid), "-o", out], capture_output=True,
                          text=True, timeout=60, env=clean_env(**daemon.env))
    assert done.returncode == 1
    assert f"there is no process {gone.pid}" in done.stderr and "No profiles generated" in done.stderr
    assert not list(out.iterdir())


def test_without_daemon(dist, report, tmp_path):
    """A process of this name that starts later is attached to; so is one that already runs, unless
    that was refused."""
    for options, count in (([], 2), (["--no-running"], 1)):
        out = tmp_path / f"out{count}"
        with keeper(clean_env()) as before:
            with recording(dist, out, "-i", "64", "-n", "keeper", *options, env=without_daemon(tmp_path)) as run:
                code = "import time\nwhile True: x = [bytes(3000) for i in range(100)]; time.sleep(0.01)"
                with subprocess.Popen(["keeper", "-c", code], executable=PYTHON, env=clean_env()) as later:
                    try:
                        wait_until(lambda: is_recorded(dist, later.pid), "it was not noticed")
                        if count == 2:
                            wait_until(lambda: is_recorded(dist, before.pid), "the running one was not attached to")
                        err = end(run)
                        assert later.poll() is None
                    finally:
                        later.kill()
            assert "no daemon is running" in err
        pids = {p["pid"] for p in report(out / "raw-trace")["processes"]}
        assert pids == ({before.pid, later.pid} if count == 2 else {later.pid})


def is_recorded(dist, pid):
    listed = subprocess.run([dist / "bin" / "heapscope", "list", "--json"], capture_output=True, text=True,
                            timeout=60, env=clean_env(), check=False)
    return re.search(rf'"pid": ?{pid}\b', listed.stdout) is not None


def test_all_without_daemon(dist, tmp_path):
    """Processes that start cannot match; running ones can if they are large enough."""
    out = tmp_path / "none"
    out.mkdir()
    done = subprocess.run([dist / "bin" / "heapscope", "record", "-o", out, "-c", "-"], capture_output=True, text=True,
                          timeout=60, env=without_daemon(tmp_path), input=config("all: true no_running: true"))
    assert done.returncode == 1 and "only a daemon can record" in done.stderr and not list(out.iterdir())


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("unshare"), reason="makes namespaces")
def test_all_that_runs_without_daemon(dist, report, tmp_path):
    """In a namespace of its own, so that processes of others do not affect the test."""
    code = f"""
import subprocess, sys
def keep(size):
    code = "import sys; x = bytearray(b'x' * %d); print(flush=True); y = []\\nfor line in sys.stdin: y.append(bytes(5000))"
    p = subprocess.Popen(["{PYTHON}", "-c", code % size], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    return p
small, large = keep(10), keep(60_000_000)
text = '''{config("all: true no_startup: true min_anonymous_memory_kb: 50000")}'''
run = subprocess.Popen(["{dist}/bin/heapscope", "record", "-c", "-", "-o", sys.argv[1]], stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE, text=True)
run.stdin.write(text)
run.stdin.close()
assert run.stdout.readline().startswith("Profiling active")
large.stdin.write("\\n" * 1000)
large.stdin.close()
large.wait(60)
run.terminate()
print(run.wait(60))
small.kill()
"""
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(["unshare", "-p", "-f", "--mount-proc", PYTHON, "-c", code, out], capture_output=True, text=True,
                          timeout=120, env=without_daemon(tmp_path))
    assert done.stdout.split()[-1:] == ["0"], done.stderr
    said = report(out / "raw-trace")["processes"]
    assert len(said) == 1 and said[0]["pid"] > 1


@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_the_trace_on_standard_output(dist, report, tmp_path, out):
    """Standard output gets nothing else: the line that recording began goes to standard error."""
    env = without_daemon(tmp_path)
    with keeper(env) as process:
        done = subprocess.run([dist / "bin" / "heapscope", "record", "-c", "-", "-o", out], env=env, capture_output=True, timeout=100,
                              input=config(f"pid: {process.pid}", "duration_ms: 300").encode(), check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.decode().startswith("Profiling active. Press Ctrl+C to terminate.\n")
    (tmp_path / "trace").write_bytes(done.stdout)
    data = report(tmp_path / "trace")
    assert [p["pid"] for p in data["processes"]] == [process.pid] and not data["losses"]
