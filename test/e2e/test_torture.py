"""Programs that are hard for profilers: they leave frames by force, make processes by hand,
overflow their stacks, run without /proc, under a debugger, or handle their own system calls.
Nothing changes for them, and figures are exact where every allocation is recorded."""

import os
import re
import shutil
import signal
import subprocess

import pytest
from comparing import INTERVALS, allocations, need
from conftest import clean_env
from waiting import wait_until

SHARED = ["-shared", "-fPIC"]
DUMPS = ("--dump-every", "10ms")

# --- stacks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), DUMPS], ids=["", "dumps"])
def test_frames_left_by_exceptions_and_jumps(exact, options):
    measured = exact(["throws", "3", "700"], *options, flags=["-O2"])
    assert measured.run.stdout == "2100 caught\n"
    assert {"site_frame", "site_catch", "site_jump", "site_new"} <= set(measured.sites)


@pytest.mark.parametrize("interval", INTERVALS)
def test_frames_left_cost_no_output(same, target, interval):
    allocations(same([target("throws", "-pthread"), "4", "300"], interval, *DUMPS), 100)


def test_stacks_that_overflow(exact):
    """A handler on a small, guarded stack of its own allocates, and jumps back."""
    # Where a frame has already reached the guard page, its caller cannot be known; and a stack that
    # fills its thread's stack is deeper than heapscope keeps.
    measured = exact(["overflow", "3", "200"], losses={"stack_cut_unreadable", "stack_cut_middle"})
    assert measured.run.stdout == "3 threads fell and came back\n"
    assert measured.sites["site_rescue"].alloc_count == 1200


# --- threads that come and go while snapshots are taken ----------------------------------------------


@pytest.mark.costly
@pytest.mark.parametrize("program", [["churn", "6000"], ["keys"], ["cross"], ["tiny"]], ids="-".join)
def test_threads_while_snapshots_are_taken(exact, program):
    exact(["threads", *program], *DUMPS)


@pytest.mark.costly
def test_plugins_on_several_threads(exact, target):
    plugins = [target("plugin", *SHARED, f"-DSITE_NAME=site_plugin_{c}", f"-DRETURNED={i}") for i, c in enumerate("abc")]
    measured = exact(["plugin_threads", "1500", *plugins], *DUMPS, flags=["-ldl"])
    assert measured.run.stdout == "3 threads\n"
    assert all(measured.sites[f"site_plugin_{c}"].alloc_count == 3000 for c in "abc")


# --- processes ------------------------------------------------------------------------------------


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("what", ["raw", "three", "vfork", "shared", "bomb"])
def test_processes_made_by_hand(exact, what):
    """What a child does in its own memory does not count for its parent; what it does in its
    parent's memory does."""
    measured = exact(["clones", what])
    # A fork that libc does not know about has no profile.
    assert ("site_child" in measured.sites) == (what == "bomb")
    assert ("site_guest" in measured.sites) == (what in ("vfork", "shared"))


@pytest.mark.costly(cases=8)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("what", ["raw", "three", "vfork", "shared", "bomb"])
def test_processes_made_by_hand_end_as_ever(same, target, what, interval):
    same([target("clones"), what], interval)


# It closes all its descriptors, and its new image has no standard descriptors either.
DAEMON = """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 4096)
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
"""
DAEMON_GOES_ON = """
import os, sys, time
stop, fine = sys.argv[1:]
while not os.path.exists(stop): time.sleep(0.02)
kept = [bytearray(n) for n in range(20000)]
open(fine, "w").close()
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", INTERVALS)
def test_daemon_outlives_us(heapscope, report, tmp_path, interval):
    """It has no descriptor of ours and no parent; heapscope ends before it does, and it continues."""
    (python,) = need("/usr/bin/python3")
    stop, fine, file = tmp_path / "stop", tmp_path / "fine", tmp_path / "x"
    program = [python, "-c", DAEMON, DAEMON_GOES_ON, stop, fine]
    done = heapscope("run", "-q", "-i", interval, "-o", file, "--", *program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert report(file)["processes"]
    assert not fine.exists()
    stop.touch()
    wait_until(fine.exists, "the daemon did not go on")


# --- system calls ---------------------------------------------------------------------------------


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("what", ["word", "six"])
def test_syscall_touches_its_arguments_only(same, target, what, interval):
    """The word in the place of its last argument belongs to the caller."""
    same([target("calls", "-pthread"), what], interval)


@pytest.mark.parametrize("interval", INTERVALS)
def test_calls_of_a_foreign_system(same, target, interval):
    """The program answers system calls that do not come from libc. None may be the client's."""
    program = [target("calls", "-pthread"), "dispatch"]
    if subprocess.run(program, stdout=subprocess.DEVNULL, check=False).returncode == 77:
        pytest.skip("the kernel has no PR_SET_SYSCALL_USER_DISPATCH")
    assert same(program, interval).stdout == "0 foreign calls\n"


@pytest.mark.costly
def test_calls_of_a_foreign_system_below_a_daemon(daemon, target, tmp_path):
    """The session's interval comes after the client has switched itself off, or before: none may switch it on again."""
    program = tmp_path / f"calls{os.getpid()}"
    shutil.copy(target("calls", "-pthread"), program)
    if subprocess.run([program, "dispatch"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
        pytest.skip("the kernel has no PR_SET_SYSCALL_USER_DISPATCH")
    for interval in (4096, 2):
        name = daemon.begin("-n", program.name, "-i", interval)
        assert [daemon.run([program, "dispatch"]) for _ in range(20)] == [0] * 20
        daemon.stop(name)


# --- surroundings -----------------------------------------------------------------------------------


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root: it changes users, mounts or namespaces")


@pytest.mark.parametrize("interval", INTERVALS)
def test_program_that_gives_up_its_user(as_root, same, exact, target, interval):
    same([target("limits", "-pthread"), "user"], interval)
    exact(["limits", "user"])


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize(
    "shell",
    [
        'exec unshare --user "$0"',
        'exec unshare --user --map-root-user --pid --fork "$0"',
        'exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --no-new-privs "$0"',
        "mount --bind . . && mount -o remount,ro,bind . && cd . && exec \"$0\"",
        'mount -t tmpfs none /proc && exec "$0"',
    ],
    ids=["user-namespace", "pid-namespace", "no-capabilities", "read-only-folder", "no-proc"],
)
def test_surroundings(as_root, same, target, tmp_path, shell, interval):
    need("unshare", "setpriv", "mount")
    folder = tmp_path / "work"
    folder.mkdir()
    program = ["unshare", "--mount", "sh", "-c", shell, target("family")]
    if subprocess.run(program, cwd=folder, capture_output=True, env=clean_env(), check=False).returncode:
        pytest.skip("namespaces or mounts are not allowed here")
    allocations(same(program, interval, cwd=folder), 500)


@pytest.mark.parametrize("interval", INTERVALS)
def test_root_without_proc(as_root, same, target, dist, tmp_path, interval):
    """A root folder of its own, from the start, that contains only the program and its libraries."""
    if " " in str(dist):
        pytest.skip("heapscope lies under a path with a blank: the link to its library in /tmp is not in another root")
    root = tmp_path / "root"
    for path in (*libraries_of("/bin/true"), dist / "lib" / "libheapscope_preload.so"):
        copy = root / str(path).lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    shutil.copy(target("family"), root / "program")
    allocations(same(["chroot", str(root), "/program"], interval), 500)


def libraries_of(program):
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", said)


# --- under debuggers and other observers -----------------------------------------------------------


def of_any_process(text):
    """Without the numbers that differ from run to run."""
    return re.sub(r"\b(process|Thread|LWP|pid) (0x)?[0-9a-f]+|0x[0-9a-f]{8,}|\b0000[0-9a-f]{12}", r"\1 N", text)


@pytest.mark.costly
@pytest.mark.parametrize("interval", INTERVALS)
def test_under_gdb(same, target, interval):
    """Breakpoints, backtraces and a debugger's calls into the program work as without heapscope."""
    (gdb,) = need("gdb")
    program = target("throws", "-pthread")
    commands = ["set debuginfod enabled off", "set print thread-events off", "break site_new", "run", "bt", "print (int)puts(\"called\")", "disable", "continue"]
    command = [gdb, "-nx", "-q", "-batch", *(w for c in commands for w in ("-ex", c)), "--args", program, "1", "50"]
    profiled = same(command, interval, edit=of_any_process)
    assert "50 caught" in profiled.stdout and "exited normally" in profiled.stdout
    if "Couldn't write extended state" in profiled.stderr:
        pytest.skip("this gdb cannot write the registers of this processor, so it cannot call functions; the rest was compared")
    assert "called" in profiled.stdout


@pytest.mark.costly
@pytest.mark.parametrize("interval", INTERVALS)
def test_under_valgrind(same, target, interval):
    """valgrind counts errors of the program; the client causes none."""
    (valgrind,) = need("valgrind")
    same([valgrind, "-q", "--error-exitcode=9", target("throws", "-pthread"), "1", "20"], interval)


@pytest.mark.costly
@pytest.mark.parametrize("interval", INTERVALS)
def test_under_strace(same, target, tmp_path, interval):
    (strace,) = need("strace")
    log = str(tmp_path / "log")
    if subprocess.run([strace, "-o", log, "true"], capture_output=True, check=False).returncode:
        pytest.skip("processes may not be traced here")
    same([strace, "-f", "-o", log, target("processes", "-pthread"), "fork"], interval)
    same([strace, "-f", "-o", log, target("threads", "-pthread"), "churn", "100"], interval)


# Stops heapscope, and fills the queue of connections to it.
NOBODY_ANSWERS = """
import os, resource, signal, socket, subprocess, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
os.kill(os.getppid(), signal.SIGSTOP)
held = []
try:
    while True:
        held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
        held[-1].connect(chr(0) + os.environ["HEAPSCOPE_COLLECTOR"])
except BlockingIOError:
    status = 4
except OSError:
    status = 77
for i in range(5):
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
os.kill(os.getppid(), signal.SIGCONT)
sys.exit(status)
"""


@pytest.mark.costly
def test_starts_while_nobody_answers(dist, target, tmp_path):
    """Programs that start then wait only briefly, and continue unprofiled."""
    program = [*need("/usr/bin/python3"), "-c", NOBODY_ANSWERS, target("family")]
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", "1", "-o", tmp_path / "x", "--", *program]
    with subprocess.Popen([str(c) for c in command], env=clean_env(), start_new_session=True) as process:
        try:
            status = process.wait(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if status == 77:
        pytest.skip("not enough descriptors to fill the queue")
    assert status == 4
