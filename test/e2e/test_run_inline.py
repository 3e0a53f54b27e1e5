"""`heapscope run` of programs with an embedded allocator: recorded from the first allocation of
main on.

They wait, before main, until heapscope has redirected that allocator to the client: see
docs/adr/0014-detours.md.
"""

import errno
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest
from conftest import clean_env, let_others_in
from own_allocators import ALL, POSITIONS, flags_of
from preload import preloadable
from resident import need_ptrace
from truth import new_truth, read_sites, read_truth
from waiting import let_time_pass


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


def without_waits(measured):
    (process, *_) = measured.report["processes"]
    assert not process["has_own_malloc"]
    assert "its own malloc" not in measured.run.stderr
    return measured


@POSITIONS
@pytest.mark.parametrize("allocator", ALL)
def test_exact(exact, allocator, position):
    without_waits(exact(["threads", "churn", "300"], flags=flags_of(allocator, position)))


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("what", ["cross", "storm", "keys", "tiny", "raw"])
@pytest.mark.parametrize("allocator", ALL)
def test_threads(exact, allocator, what):
    without_waits(exact(["threads", what], flags=flags_of(allocator)))


@pytest.mark.parametrize("allocator", ALL)
def test_before_and_after_main(exact, allocator):
    measured = exact(["early_late"], flags=flags_of(allocator))
    assert "site_first_constructor" in without_waits(measured).sites


@pytest.mark.parametrize("allocator", ALL)
def test_operators(exact, allocator):
    """Those of tcmalloc and jemalloc are in the executable and do not call malloc; those of the toy
    are the C++ library's."""
    without_waits(exact(["operators"], flags=flags_of(allocator)))


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("what", ["fork", "tree", "daemon", "vfork"])
@pytest.mark.parametrize("allocator", ALL)
def test_children(exact, allocator, what):
    """Forked processes have the changed code as well; executed programs wait like the first one."""
    without_waits(exact(["processes", what], flags=flags_of(allocator)))


@pytest.mark.parametrize("allocator", ALL)
def test_every_image(exact, allocator):
    measured = exact(["processes", "exec", "5"], flags=flags_of(allocator))
    assert len(measured.report["processes"]) == 6
    assert not any(p["has_own_malloc"] for p in measured.report["processes"])
    assert measured.sites["site_image"].live_bytes == sum(range(100, 106))


@pytest.mark.parametrize("order", [[], ["fail-first"]], ids=["", "fail-first"])
def test_operators_of_the_library(exact, order):
    """Called by constructors, and again when they are redirected to malloc: counted once."""
    without_waits(exact(["operators", *order], flags=flags_of("toy")))


def test_constructors_of_libraries(run, report, tmp_path):
    """The client's own constructor runs before them."""
    (tmp_path / "early.c").write_text("""
#include <stdlib.h>
static void *volatile kept;
__attribute__((constructor)) static void site_early_constructor(void) { kept = malloc(12345); }
void touch(void) { free(kept); }
""")
    (tmp_path / "uses.c").write_text("void touch(void); int main(void) { touch(); return 0; }\n")
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-Wl,-soname,libearly.so", "-o", "libearly.so", "early.c"], cwd=tmp_path, check=True)
    linked = ["./libearly.so", "-Wl,-rpath," + str(tmp_path), *flags_of("toy")]
    subprocess.run(["gcc", "-g", "-o", "uses", "uses.c", *linked], cwd=tmp_path, check=True)
    done = run([tmp_path / "uses"], "-i", 1)
    assert done.status == 0, done.stderr
    data = done.report("--top", "all", "--view", "alloc_objects")
    (early,) = [s for s in data["stacks"] if s["frames"][0]["function"] == "site_early_constructor"]
    assert early["alloc"]["bytes"] == 12345 and early["live"]["count"] == 0


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize(
    "what",
    ["none", "as", "fsize", "nofile", "fds", "range", "chroot", "stack", "mask", "hidden", "seccomp", "seccomp_errno"],
)
@pytest.mark.parametrize("allocator", ["toy", "jemalloc"])
def test_under_limits(exact, allocator, what):
    measured = without_waits(exact(["limits", what], flags=flags_of(allocator)))
    assert measured.run.stdout == "done\n"


def test_children_are_left_alone(run, target, tmp_path):
    """With --no-follow none of them waits or is changed."""
    program = target("resident", *flags_of("jemalloc"))
    done = run(["sh", "-c", 'echo work | "$1"; true', "sh", program], "--no-follow", env={"TRUTH_FILE": new_truth(tmp_path)})
    assert done.stdout == "ok\n" and done.status == 0
    assert len(done.report()["processes"]) == 1


def test_results_are_the_same(same, target):
    same([target("throws", *flags_of("jemalloc"))], 1)
    same([target("errnos", *flags_of("tcmalloc"))], 1)


# --- when redirecting is impossible -------------------------------------------------------------------


class Collector:
    """The collector of a program that the test started with the client; it sends only what the test
    wants."""

    def __init__(self, dist, *command, daemon_path=None):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        name = f"heapscope-test-{os.getpid()}-{id(self)}"
        if daemon_path:
            board = struct.pack("<8sIIQ40x", b"SHBARD01", 1, 64, 1)
            pathlib.Path(f"{daemon_path}.board").write_bytes(board)
            where = {"HEAPSCOPE_SOCKET": daemon_path}
        else:
            where = {"HEAPSCOPE_COLLECTOR": name, "HEAPSCOPE_INTERVAL": 1, "HEAPSCOPE_FOLLOW": 1}
        self.listener.bind(str(daemon_path or "\0" + name))
        self.listener.listen()
        self.listener.settimeout(60)
        env = clean_env(LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"), **where)
        self.process = subprocess.Popen([str(c) for c in command], env=env, stdout=subprocess.PIPE, text=True)
        self.connection = self.listener.accept()[0]
        self.connection.settimeout(60)
        hello, fds, *_ = socket.recv_fds(self.connection, 4096, 4)
        for fd in fds:
            os.close(fd)
        (self.flags,) = struct.unpack_from("<I", hello, 20)

    def close(self):
        self.connection.close()
        self.listener.close()
        self.process.kill()
        self.process.communicate()


OWN_MALLOC, DORMANT, WAITS = 1, 2, 16


@pytest.fixture
def collect(dist):
    started = []

    def call(*command, **more):
        started.append(Collector(dist, *command, **more))
        return started[-1]

    yield call
    for one in started:
        one.close()


def test_others_do_not_wait(collect):
    """The collector neither answers nor closes the connection."""
    one = collect("echo", "hello")
    assert one.flags & (OWN_MALLOC | WAITS) == 0
    assert one.connection.recv(1) == b""
    assert one.process.communicate(timeout=60)[0] == "hello\n"


def test_nobody_waits_for_a_daemon(collect, target, tmp_path):
    """The daemon's startup hint file says that programs record at once; it contains nothing else
    for them."""
    one = collect(target("own_malloc", "-fno-builtin"), daemon_path=tmp_path / "daemon.sock")
    assert one.flags & (OWN_MALLOC | WAITS | DORMANT) == OWN_MALLOC
    assert one.connection.recv(1) == b""
    assert one.process.communicate(timeout=60)[0] == "hello from my own heap\n"


def test_nobody_answers(collect, target):
    """The program waits for two seconds, then continues unrecorded."""
    begin = time.monotonic()
    one = collect(target("own_malloc", "-fno-builtin"))
    assert one.flags & (OWN_MALLOC | WAITS) == OWN_MALLOC | WAITS
    assert one.process.communicate(timeout=60)[0] == "hello from my own heap\n"
    assert time.monotonic() - begin > 1.9


def test_words_without_a_request_do_nothing(collect, target):
    """Requests come through memory, which needs permission; a message here has no effect."""
    one = collect(target("own_malloc", "-fno-builtin"))
    for word in (b"x", b"y" * 5000):
        one.connection.send(word)
        assert struct.unpack("<i", one.connection.recv(100)) == (-errno.EINVAL,)
    one.connection.shutdown(socket.SHUT_RDWR)
    begin = time.monotonic()
    assert one.process.communicate(timeout=60)[0] == "hello from my own heap\n"
    assert one.process.returncode == 0 and time.monotonic() - begin < 60


LIAR = """
import errno, os, socket, struct, sys
how = sys.argv[1]
for _ in range(3):
    to = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    to.connect("\\0" + os.environ["HEAPSCOPE_COLLECTOR"])
    hello = struct.pack("<8sIIIIQ32x", b"SHELLO01", 1, 64, os.getpid(), 1 | 16, 4096)
    socket.send_fds(to, [hello], [os.memfd_create("x")])
    while how != "leaves":
        word = to.recv(100)
        if not word:
            break
        answers = {"long": b"x" * 100, "short": b"x", "0": bytes(4), "7": struct.pack("<i", 7),
                   "exists": struct.pack("<i", -errno.EEXIST), "silent": None}
        if answers[how]:
            to.send(answers[how])
    to.close()
print("done")
"""


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("how", ["leaves", "long", "short", "0", "7", "exists", "silent"])
def test_program_that_lies(run, how):
    """It says that it waits, and does something else: the request has no effect, and ends in time."""
    done = run(["/usr/bin/python3", "-c", LIAR, how], timeout=60)
    assert done.status == 0 and done.stdout == "done\n", done.stderr
    (process,) = done.report()["processes"]
    assert not process["has_own_malloc"] and "could not be read" in done.stderr, done.stderr


def test_stopped_collector(dist, target, report, tmp_path):
    """Its program continues after two seconds, and the report says that it was not recorded."""
    program = target("own_malloc", "-fno-builtin")
    file = tmp_path / "stopped.pftrace"
    command = [dist / "bin" / "heapscope", "run", "-q", "-o", file, "--", "sh", "-c", 'kill -STOP $PPID; "$1"; echo end', "sh"]
    process = subprocess.Popen(
        [*map(str, command), program], env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "hello from my own heap\n"
        assert process.stdout.readline() == "end\n"
        process.send_signal(signal.SIGCONT)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, said
    assert "contains its own malloc" in said or "contain their own malloc" in said, said
    assert [p["has_own_malloc"] for p in report(file)["processes"] if p["name"].endswith(program.rsplit("/")[-1][:15])] == [True]


def test_killed_collector(dist, target, tmp_path):
    """Killed at any moment of the start: the program does what it would have done."""
    program = target("own_malloc", "-fno-builtin")
    tool = target("resident", *flags_of("jemalloc"))
    for i in range(60):
        command = [dist / "bin" / "heapscope", "run", "-q", "-o", tmp_path / "killed", "--", "sh", "-c"]
        script = 'echo begin; echo work | "$1"; "$2"; echo end'
        process = subprocess.Popen(
            [*map(str, command), script, "sh", tool, program],
            env=clean_env(TRUTH_FILE=new_truth(tmp_path)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # communicate() would miss what readline() had read ahead
        )
        assert process.stdout.readline() == b"begin\n"
        let_time_pass(i * 0.0002, "heapscope is killed at any moment")
        process.kill()
        # The output ends when the last process that writes to it has ended.
        assert process.communicate(timeout=60)[0] == b"ok\nhello from my own heap\nend\n"


def child_of(process, name):
    """Returns its pid, once it executes the program of this name."""
    while True:
        for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name:
                return int(pid)


@pytest.mark.costly
def test_killed_program(dist, target, tmp_path):
    """Killed at any moment of its start; heapscope may be holding it just then, and notices its end
    all the same."""
    program = target("resident", *flags_of("jemalloc"))
    for i in range(100):
        process = subprocess.Popen(
            [str(dist / "bin" / "heapscope"), "run", "-q", "-o", str(tmp_path / "killed"), "--", program],
            env=clean_env(TRUTH_FILE=new_truth(tmp_path)),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        pid = child_of(process, os.path.basename(program))
        end = time.perf_counter() + i * 0.00005
        while time.perf_counter() < end:
            pass
        os.kill(pid, signal.SIGKILL)
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 128 + signal.SIGKILL


def test_attached_to_after_a_killed_run(dist, target, attach, report, tmp_path):
    """Its functions are already redirected to the client."""
    name = target("resident", *flags_of("jemalloc"))
    truth = new_truth(tmp_path)
    run = subprocess.Popen(
        [str(dist / "bin" / "heapscope"), "run", "-q", "-i", "1", "-o", str(tmp_path / "killed"), "--", name],
        env=clean_env(TRUTH_FILE=truth), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
    )

    def tell(word):
        run.stdin.write(word + b"\n")
        assert run.stdout.readline() == b"ok\n"

    pid = child_of(run, os.path.basename(name))
    try:
        tell(b"work")
        run.kill()
        run.wait()
        tell(b"work")
        first = read_truth(truth)
        session = attach(pid)
        assert session.is_recording, session.said
        tell(b"work")
        assert session.stop() == 0, session.said
        last = read_truth(truth)
        tell(b"work")
    finally:
        os.kill(pid, signal.SIGKILL)
    sites = read_sites(report(session.file, "--top", "all", "--view", "alloc_objects"))
    for site in ("site_malloc", "site_calloc", "site_aligned", "site_memalign", "site_freed"):
        new = last[site] - first[site]
        assert (sites[site].alloc_bytes, sites[site].alloc_count) == (new.alloc_bytes, new.alloc_count), site
        assert new.alloc_count > 0


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_without_the_right_to(dist, target, report, tmp_path):
    """A program that its user may execute but not read may not be inspected either."""
    let_others_in(tmp_path)
    tmp_path.chmod(0o777)
    program = tmp_path / "unreadable"
    shutil.copy(target("own_malloc", "-fno-builtin"), program)
    program.chmod(0o111)
    as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    file = tmp_path / "unreadable.pftrace"
    done = subprocess.run(
        [*as_user, str(dist / "bin" / "heapscope"), "run", "-q", "-o", str(file), "--", str(program)],
        env=clean_env(), capture_output=True, text=True, timeout=60, check=False,
    )
    assert done.returncode == 0 and done.stdout == "hello from my own heap\n", done.stderr
    assert "contains its own malloc" in done.stderr and "dumpable" in done.stderr, done.stderr
    assert report(file)["processes"][0]["has_own_malloc"]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_traced(dist, target, tmp_path):
    """By another tracer."""
    command = [dist / "bin" / "heapscope", "run", "-q", "-o", tmp_path / "traced", "--", "strace", "-f", "-o", "/dev/null"]
    done = subprocess.run(
        [*map(str, command), target("resident", *flags_of("jemalloc"))],
        env=clean_env(TRUTH_FILE=new_truth(tmp_path)),
        input="work\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and done.stdout == "ok\n", done.stderr
    assert "contains its own malloc" in done.stderr and "strace" in done.stderr, done.stderr
