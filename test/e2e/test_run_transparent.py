"""heapscope run changes nothing for the program: what it inherits, what reaches it, how it ends."""

import json
import os
import pathlib
import pty
import resource
import select
import signal
import subprocess
import time

import pytest

from conftest import clean_env
from waiting import let_time_pass, wait_for_state, wait_until

PYTHON = "/usr/bin/python3"

# What a process can see of how it was started, as JSON.
SEE = """
import json, os, resource, sys
status = dict(l.rstrip("\\n").split(":\\t", 1) for l in open("/proc/self/status") if ":\\t" in l)
print(json.dumps({
    "fds": sorted(os.listdir("/proc/self/fd"))[:-1],
    "signals": [status[k] for k in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd")],
    "group": os.getpgrp(), "session": os.getsid(0), "cwd": os.getcwd(), "umask": os.umask(0),
    "limits": [resource.getrlimit(getattr(resource, n)) for n in sorted(dir(resource))
               if n.startswith("RLIMIT_")],
    "nice": os.nice(0), "argv": sys.argv,
    "env": sorted(k for k in os.environ if k != "_"),
    "no_new_privs": status.get("NoNewPrivs"),
}))
"""


def start(dist, file, program, **options):
    """heapscope run in the background."""
    command = [dist / "bin" / "heapscope", "run", "-q", "-o", file, "--", *program]
    options.setdefault("env", clean_env())
    return subprocess.Popen([str(c) for c in command], **options)


@pytest.fixture
def recorder(tmp_path):
    """A program that writes a line into a file when it is ready, for each signal, and at its end."""
    log = tmp_path / "log"
    code = f"""
import os, signal, sys, time
log = os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(number, frame):
    os.write(log, (signal.Signals(number).name + "\\n").encode())
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2,
               signal.SIGWINCH, signal.SIGQUIT):
    signal.signal(number, note)
os.write(log, f"ready {{os.getpid()}}\\n".encode())
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end and not os.path.exists({str(tmp_path / "stop")!r}):
    time.sleep(0.02)
os.write(log, b"end\\n")
sys.exit(5)
"""

    class Recorder:
        program = [PYTHON, "-c", code, "20"]

        @staticmethod
        def lines():
            return log.read_text().splitlines() if log.exists() else []

        @classmethod
        def pid(cls):
            wait_until(lambda: cls.lines(), "the program to start")
            return int(cls.lines()[0].split()[1])

        @staticmethod
        def stop():
            (tmp_path / "stop").touch()

    return Recorder


def seen(command, **options):
    done = subprocess.run(
        [str(c) for c in command], env=clean_env(), stdout=subprocess.PIPE, check=True, **options
    )
    return json.loads(done.stdout)


def peculiar():
    """An unusual start, to see whether it is passed on unchanged."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGRTMIN])
    resource.setrlimit(resource.RLIMIT_NOFILE, (123, 456))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o057)


@pytest.mark.parametrize("preexec", [None, peculiar], ids=["usual", "peculiar"])
def test_program_sees_what_it_would_see(dist, tmp_path, preexec):
    program = [PYTHON, "-c", SEE, "a b", ""]
    plain = seen(program, preexec_fn=preexec, stdin=subprocess.DEVNULL)
    run = [dist / "bin" / "heapscope", "run", "-q", "-o", tmp_path / "x", "--", *program]
    profiled = seen(run, preexec_fn=preexec, stdin=subprocess.DEVNULL)
    ours = {"LD_PRELOAD", "HEAPSCOPE_COLLECTOR", "HEAPSCOPE_INTERVAL", "HEAPSCOPE_FOLLOW", "HEAPSCOPE_HEAPS"}
    ours |= {"HEAPSCOPE_FOLLOW_PID", "ASAN_OPTIONS"}
    assert set(profiled.pop("env")) - ours == set(plain.pop("env"))
    assert profiled == plain


def test_closed_standard_descriptors_stay_closed(dist, tmp_path):
    out = tmp_path / "out"
    code = f"import os; open({str(out)!r}, 'w').write(repr(sorted(os.listdir('/proc/self/fd'))))"
    command = [dist / "bin" / "heapscope", "run", "-o", tmp_path / "x", "--", PYTHON, "-c", code]
    shell = " ".join(f"'{c}'" for c in map(str, command[:-1])) + ' "$0" <&- >&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", shell, code], env=clean_env(), check=False)
    assert done.returncode == 0
    # Python opens only its own folder listing, which takes the lowest number.
    assert "'2'" not in out.read_text()
    assert (tmp_path / "x").stat().st_size > 0


def test_streams_pass_through(dist, tmp_path):
    program = ["/bin/sh", "-c", "cat; echo err >&2"]
    process = start(
        dist,
        tmp_path / "x",
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    data = os.urandom(300000)
    out, err = process.communicate(data, timeout=60)
    assert out == data
    assert err == b"err\n"


def test_old_preload_is_kept_behind_ours(dist, tmp_path):
    env = clean_env(LD_PRELOAD="libz.so.1:/nonexistent/x.so")
    command = [dist / "bin" / "heapscope", "run", "-q", "-o", tmp_path / "x", "--"]
    command += ["/bin/sh", "-c", "echo $LD_PRELOAD; grep -c libz /proc/self/maps"]
    done = subprocess.run(
        list(map(str, command)), env=env, capture_output=True, text=True, check=False
    )
    first, maps = done.stdout.splitlines()
    assert first.endswith(":libz.so.1:/nonexistent/x.so")
    assert "libheapscope_preload.so:" in first
    assert int(maps) > 0


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -TERM $$", 128 + 15),
        ("kill -KILL $$", 128 + 9),
        ("kill -SEGV $$", 128 + 11),
        ("kill -ABRT $$", 128 + 6),
    ],
)
def test_exit_status(run, script, status):
    done = run(["/bin/sh", "-c", script])
    assert done.status == status
    (process,) = done.report()["processes"]
    assert process["is_final"]
    if status > 128 and status != 255:
        assert process["exit_signal"] == status - 128
    else:
        assert process["exit_status"] == status


def test_exit_status_when_child_signals_are_ignored(dist, tmp_path):
    process = start(
        dist,
        tmp_path / "x",
        ["/bin/sh", "-c", "exit 9"],
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert process.wait(60) == 9


SIGNALS = [
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGQUIT,
]


def test_signals_to_us_alone_are_passed_on_once(dist, tmp_path, recorder):
    process = start(dist, tmp_path / "x", recorder.program, start_new_session=True)
    recorder.pid()
    for number in SIGNALS:
        before = len(recorder.lines())
        process.send_signal(number)
        wait_until(lambda b=before: len(recorder.lines()) > b, number.name)
        let_time_pass(0.05, "no second one shall arrive")
    recorder.stop()
    assert process.wait(60) == 5
    assert recorder.lines()[1:] == [s.name for s in SIGNALS] + ["end"]


def test_signals_to_the_group_arrive_once(dist, tmp_path, recorder):
    process = start(dist, tmp_path / "x", recorder.program, start_new_session=True)
    recorder.pid()
    for number in SIGNALS * 2:
        before = len(recorder.lines())
        os.killpg(process.pid, number)
        wait_until(lambda b=before: len(recorder.lines()) > b, number.name)
        let_time_pass(0.05, "no second one shall arrive")
    recorder.stop()
    assert process.wait(60) == 5
    assert recorder.lines()[1:] == [s.name for s in SIGNALS * 2] + ["end"]


def test_program_outlives_us(dist, tmp_path, recorder):
    process = start(dist, tmp_path / "x", recorder.program, start_new_session=True)
    pid = recorder.pid()
    process.kill()
    process.wait(60)
    os.kill(pid, signal.SIGUSR1)
    wait_until(lambda: "SIGUSR1" in recorder.lines(), "the program to answer")
    recorder.stop()
    wait_until(lambda: recorder.lines()[-1] == "end", "the program to end by itself")
    assert not (tmp_path / "x").exists()


# --- terminals --------------------------------------------------------------------------------------

# A minimal shell with job control: it starts its arguments as the foreground job, reports on
# descriptor 3 when the job stops or ends, and continues it on a command from descriptor 4.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def tell(text):
    os.write(3, text.encode() + b"\\n")
def foreground(group):
    os.tcsetpgrp(0, group)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    foreground(os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.close(3); os.close(4)
    os.execv(sys.argv[1], sys.argv[1:])
try:
    os.setpgid(pid, pid)
except OSError:
    pass
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    foreground(os.getpgrp())
    if os.WIFSTOPPED(status):
        tell("stopped " + signal.Signals(os.WSTOPSIG(status)).name)
        os.read(4, 1)
        foreground(pid)
        os.killpg(pid, signal.SIGCONT)
    else:
        tell("ended " + str(os.waitstatus_to_exitcode(status)))
        break
"""


class Terminal:
    """The shell above on a terminal of its own."""

    def __init__(self, command):
        told, tell = os.pipe()
        go, self._go = os.pipe()
        pid, self.fd = pty.fork()
        if pid == 0:
            # Moved above 4 first, because the ends of the pipes may be 3 and 4 themselves.
            tell, go = os.dup2(tell, 10), os.dup2(go, 11)
            os.dup2(tell, 3)
            os.dup2(go, 4)
            os.closerange(5, 50)
            os.execve(PYTHON, [PYTHON, "-c", SHELL, *map(str, command)], clean_env())
        os.close(tell)
        os.close(go)
        self._told = os.fdopen(told)
        self.pid = pid

    def type(self, text):
        os.write(self.fd, text)

    def go_on(self):
        os.write(self._go, b"g")

    def told(self, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.fd, self._told], [], [], 0.1)
            if self.fd in ready:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
            if self._told in ready:
                return self._told.readline().strip()
        pytest.fail("the shell said nothing")

    def close(self):
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        os.close(self._go)
        self._told.close()


@pytest.fixture
def terminal(dist, tmp_path):
    opened = []

    def open_terminal(program):
        command = [dist / "bin" / "heapscope", "run", "-o", tmp_path / "x", "--", *program]
        opened.append(Terminal(command))
        return opened[0]

    yield open_terminal
    opened[0].close()


def test_typed_interrupt_reaches_the_program_once(terminal, tmp_path, recorder):
    shell = terminal(recorder.program)
    recorder.pid()
    shell.type(b"\x03")
    wait_until(lambda: len(recorder.lines()) > 1, "SIGINT")
    shell.type(b"\x1c")
    wait_until(lambda: len(recorder.lines()) > 2, "SIGQUIT")
    let_time_pass(0.1, "no second one shall arrive")
    recorder.stop()
    assert shell.told() == "ended 5"
    assert recorder.lines()[1:] == ["SIGINT", "SIGQUIT", "end"]
    assert (tmp_path / "x").stat().st_size > 0


def test_typed_stop_and_continue(terminal, tmp_path, recorder):
    shell = terminal(recorder.program)
    pid = recorder.pid()
    for _ in range(2):
        shell.type(b"\x1a")
        assert shell.told() == "stopped SIGTSTP"
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state == "T"
        shell.go_on()
        wait_until(
            lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            != "T",
            "the program to go on",
        )
    recorder.stop()
    assert shell.told() == "ended 5"
    assert (tmp_path / "x").stat().st_size > 0


def test_program_that_stops_itself_stops_the_job(terminal, tmp_path):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); raise SystemExit(3)"
    shell = terminal([PYTHON, "-c", code])
    assert shell.told() == "stopped SIGSTOP"
    shell.go_on()
    assert shell.told() == "ended 3"


def test_stop_without_terminal_waits_for_who_stopped_it(dist, tmp_path, recorder):
    process = start(dist, tmp_path / "x", recorder.program, start_new_session=True)
    pid = recorder.pid()
    os.kill(pid, signal.SIGSTOP)
    wait_for_state(pid, "T")
    let_time_pass(0.2, "heapscope shall not wake it up")
    os.kill(pid, signal.SIGCONT)
    recorder.stop()
    assert process.wait(60) == 5


