"""Commands that record, and signals: whatever signals come and however often, what was recorded is
written.

timeout(1) often sends a signal twice: to the process, and to its process group.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest
from conftest import clean_env
from daemon import Daemon
from waiting import let_time_pass, list_all, wait_until

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
TIMES = 12
ENOUGH_SAMPLES = 20  # the function that allocates is among them


class Command:
    """A command in a process group of its own, and its output."""

    def __init__(self, command, env, is_ready):
        self.process = subprocess.Popen([str(part) for part in command], env=env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
        self.said = ""
        self.signal_times = []
        self.pid = self.process.pid
        stream = self.process.stderr if is_ready == "recording until" else self.process.stdout
        while is_ready not in self.said:
            line = stream.readline()
            assert line, self.said + self.process.communicate()[1]
            self.said += line

    def signal_twice(self, number):
        """What timeout(1) does."""
        self.signal_times.append(time.monotonic())
        os.kill(self.pid, number)
        os.killpg(self.pid, number)
        self.signal_times.append(time.monotonic())

    def may_lack_names(self):
        """A signal that comes more than a second after the first one ends the search for names. On a busy machine the first
        can be handled late, never the last one early."""
        return self.signal_times and self.signal_times[-1] - self.signal_times[0] > 0.5

    def wait(self):
        out, err = self.process.communicate(timeout=100)
        self.said += out + err
        return self.process.returncode


@pytest.fixture
def programs(target, tmp_path):
    """programs(COUNT, NAME): running copies of a test program, each with a unique name: [(pid,
    path), ...]"""
    running = []

    def call(count, name="works"):
        paths = [tmp_path / f"{name[:6]}{i}.{os.getpid()}" for i in range(count)]
        for path in paths:
            shutil.copy(target(name), path)
            running.append(subprocess.Popen([path], env=clean_env(), stdout=subprocess.PIPE))
        for process in running:
            assert process.stdout.readline() == b"works\n"
        return [(process.pid, path) for process, path in zip(running, paths)]

    yield call
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def daemon(dist, heapscope, report, tmp_path):
    folder = tmp_path / "daemon"
    folder.mkdir()
    one = Daemon(dist, heapscope, report, folder)
    yield one
    one.stop_all()


def begin(kind, dist, out, pid, path, env):
    """Starts the command; returns when it records."""
    heapscope = dist / "bin" / "heapscope"
    out.mkdir()
    if kind == "run":
        return Command([heapscope, "run", "-q", "-o", out / "raw-trace", "--", path], env, "works")
    if kind == "attach":
        return Command([heapscope, "attach", "--top", "0", "-o", out / "raw-trace", pid], env, "recording until")
    if kind == "command":
        return Command([heapscope, "record", "-o", out, "--", path], env, "works")
    meant = ["-p", pid] if kind == "pid" else ["-n", path.name]
    return Command([heapscope, "record", "-o", out, *meant], env, "Profiling active")


def wait_for_works(heapscope, commands, env):
    """Waits until each of the commands has recorded something of its process."""
    def have_all():
        recorded = {c["session"].partition(".")[2] for c in list_all(heapscope, "clients", env=env)
                    if c.get("session") and c["sample_count"] >= ENOUGH_SAMPLES}
        return {str(command.pid) for command in commands} <= recorded

    wait_until(have_all, "nothing is recorded")


def check(report, command, out, pid):
    """All files are complete, and functions have their names."""
    assert "No profiles" not in command.said, command.said
    functions = str(report(out / "raw-trace"))
    if not command.may_lack_names():
        assert "interrupted" not in command.said and "work_on" in functions, command.said
    if "record" in command.process.args:
        assert list(out.glob(f"heap_dump.*.{pid or '*'}.*.pb.gz")), command.said


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("kind", ["daemon", "name", "pid", "attach", "run", "command"])
def test_a_signal_that_comes_twice(kind, request, dist, heapscope, report, programs, tmp_path):
    env = clean_env(**(request.getfixturevalue("daemon").env if kind == "daemon" else {}))
    made = programs(TIMES)
    is_own = kind in ("run", "command")
    commands = [begin(kind, dist, tmp_path / f"out{i}", pid, path, env) for i, (pid, path) in enumerate(made)]
    wait_for_works(heapscope, commands, env)
    for i, command in enumerate(commands):
        command.signal_twice(SIGNALS[i % len(SIGNALS)])
    let_time_pass(0.1, "the second signal comes while the first is being worked on")
    for i, command in enumerate(commands):
        if command.process.poll() is None:
            command.signal_twice(SIGNALS[(i + 1) % len(SIGNALS)])
    for i, command in enumerate(commands):
        status = command.wait()
        assert status == (128 + SIGNALS[i % len(SIGNALS)] if is_own else 0), command.said
        check(report, command, tmp_path / f"out{i}", None if is_own else made[i][0])


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["daemon", "pid", "attach", "run"])
def test_any_signal(kind, request, dist, heapscope, report, programs, tmp_path):
    """All signals that would end a process, except SIGKILL."""
    numbers = [signal.SIGABRT, signal.SIGSEGV, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO,
               signal.SIGPWR, signal.SIGXCPU, signal.SIGBUS, signal.SIGTRAP, signal.SIGSYS, signal.SIGRTMIN, signal.SIGRTMAX]
    env = clean_env(**(request.getfixturevalue("daemon").env if kind == "daemon" else {}))
    made = programs(len(numbers))
    commands = [begin(kind, dist, tmp_path / f"out{i}", pid, path, env) for i, (pid, path) in enumerate(made)]
    wait_for_works(heapscope, commands, env)
    for number, command in zip(numbers, commands):
        os.kill(command.pid, number)
        if number == signal.SIGALRM and kind != "run":
            os.kill(command.pid, signal.SIGTERM)  # this one is ignored
    for i, command in enumerate(commands):
        assert command.wait() == (128 + numbers[i] if kind == "run" else 0), (numbers[i], command.said)
        check(report, command, tmp_path / f"out{i}", None if kind == "run" else made[i][0])


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("number", SIGNALS)
def test_the_daemon_itself(number, dist, heapscope, report, programs, tmp_path):
    """Its sessions end, and each has its file with all names."""
    made = programs(3)
    files = [tmp_path / f"file{i}" for i in range(3)]
    env = clean_env(HEAPSCOPE_SOCKET=tmp_path / "sock")
    with subprocess.Popen([dist / "bin" / "heapscoped"], env=env, stderr=subprocess.DEVNULL, process_group=0) as daemon:
        wait_until(lambda: heapscope("list", env=env).returncode == 0, "the daemon does not come up")
        for (pid, _), file in zip(made, files):
            assert heapscope("start", "-p", pid, "-o", file, env=env).returncode == 0
        wait_until(lambda: {pid for pid, _ in made} <= {c["pid"] for c in list_all(heapscope, "clients", env=env)
                                                        if c["sample_count"] >= ENOUGH_SAMPLES})
        for _ in range(3):
            os.kill(daemon.pid, number)
            os.killpg(daemon.pid, number)
            let_time_pass(0.05, "further signals come while the first is being worked on")
        assert daemon.wait(60) == 0
    for file in files:
        assert "work_on" in str(report(file))


def test_output_that_nobody_reads(dist, heapscope, report, programs, tmp_path):
    """SIGPIPE: the reader of the messages exits."""
    pid, path = programs(1)[0]
    command = begin("pid", dist, tmp_path / "out", pid, path, clean_env())
    command.process.stdout.close()
    command.process.stderr.close()
    command.process.stdout = command.process.stderr = None
    wait_for_works(heapscope, [command], None)
    command.signal_twice(signal.SIGINT)
    command.process.wait(60)
    check(report, command, tmp_path / "out", pid)


@pytest.mark.parametrize("kind", ["pid", "name"])
def test_a_signal_before_it_begins(kind, heapscope, programs, tmp_path):
    """The target gets no signal, and nothing is left behind."""
    def send():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.kill(os.getpid(), signal.SIGINT)

    pid, path = programs(1)[0]
    out = tmp_path / "out"
    out.mkdir()
    meant = ["-p", pid] if kind == "pid" else ["-n", path.name]
    done = heapscope("record", "-o", out, *meant, env={"HEAPSCOPE_SOCKET": tmp_path / "none"}, preexec_fn=send)
    assert done.returncode == 1 and "interrupted: heapscope attached to no process" in done.stderr, done
    assert "cannot be loaded" not in done.stderr and not list(out.iterdir()), done


# --- repeated signals ----------------------------------------------------------------------------------


@pytest.fixture
def nameless(programs):
    """A program whose names take long to look up."""
    pid, path = programs(1, "jit_works")[0]
    names = pathlib.Path(f"/tmp/perf-{pid}.map")
    with names.open("wb") as file:
        file.truncate(500 << 20)
    yield pid, path
    names.unlink()


def parents():
    """{pid: parent's pid}"""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return found


def is_for_names(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text() == "heapscope-names\n"
    return False


@contextlib.contextmanager
def stopped_workers(of, known):
    """Stops the processes that look up names for this process or for one of its children, and those that
    start meanwhile: names then take as long as they may, 2 s for a dump and 20 s at the end."""
    over = threading.Event()

    def workers():
        tree = parents()
        ours = [pid for pid in tree if tree[pid] == of and pid not in known]
        return [pid for pid in tree if (pid in ours or tree[pid] in ours) and is_for_names(pid)]

    def stop():
        while not over.wait(0.01):
            for pid in workers():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGSTOP)

    wait_until(workers, "no worker came")
    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("kind", ["daemon", "pid", "attach"])
def test_a_later_signal_leaves_names_out(kind, request, dist, heapscope, report, nameless, tmp_path):
    """Within a second, a second signal counts as the same request. Later, it makes the end faster,
    and only names are missing."""
    pid, path = nameless
    daemon = request.getfixturevalue("daemon") if kind == "daemon" else None
    command = begin(kind, dist, tmp_path / "out", pid, path, clean_env(**(daemon.env if daemon else {})))
    wait_for_works(heapscope, [command], daemon.env if daemon else None)
    known = parents()
    command.signal_twice(signal.SIGINT)
    with stopped_workers(daemon.pid if daemon else command.pid, known):
        for _ in range(4):
            command.signal_twice(signal.SIGINT)
            let_time_pass(0.2, "signals within a second count as one")
        let_time_pass(2.6, "the 2 s that names of the last dump may take are over, and a second of the end")
        assert command.process.poll() is None, "names do not take long here"
        command.signal_twice(signal.SIGINT)
    begun = time.monotonic()
    killer = threading.Timer(60, command.process.kill)
    killer.start()
    status = command.wait()
    killer.cancel()
    assert status == 0, command.said
    assert time.monotonic() - begun < 10
    assert report(tmp_path / "out" / "raw-trace")["totals"]["alloc"]["bytes"] > 0
    if kind != "attach":
        assert list((tmp_path / "out").glob(f"heap_dump.*.{pid}.*.pb.gz"))
    assert "have no names" in command.said, command.said
