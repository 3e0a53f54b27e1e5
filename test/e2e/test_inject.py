"""A library in a running process, and a function called there: it works, and the program does not
notice.

Durations of stops are printed (pytest -s shows them). They depend on how busy the machine is, so
only generous limits are asserted.
"""

import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import threading

import pytest
from conftest import let_others_in
from injecting import VALUE, build, descriptors, maps, running, status, tools_in, wait_for_call, wait_for_signals, words
from preload import preloadable
from waiting import let_time_pass, tracer_of, wait_for_computing, wait_for_state, wait_until

KINDS = ["nanosleep", "clock_nanosleep", "poll", "ppoll", "select", "pselect", "epoll", "epoll_pwait",
         "futex", "cond", "read", "recv", "recv_timeout", "epoll_endless", "timerfd", "pause", "sigsuspend",
         "sigwait", "wait", "join", "semop", "msgrcv"]


@pytest.fixture(scope="session")
def built(built_once):
    folder = built_once("inject", build)
    if os.geteuid() == 0:
        let_others_in(folder)  # for the tests that become another user
    return tools_in(folder)


@pytest.fixture
def inject(built):
    """inject(PID, "injected", "-w", 41, library=...): the tool's output, as a dictionary."""
    tool, injected = built

    def call(pid, symbol="injected", *options, library=injected, prefix=(), timeout=120):
        done = subprocess.run([*map(str, prefix), str(tool), str(pid), str(library), symbol, *map(str, options)],
                              capture_output=True, text=True, check=False, timeout=timeout)
        assert done.stdout, f"{done.returncode}: {done.stderr}"
        return words(done.stdout)

    return call


@pytest.fixture
def sleepers(target):
    return target("sleepers", "-pthread")


def finish(program):
    out = program.stdout.read()
    assert program.wait(timeout=60) == 0
    return words(out)


def assert_called(said, **expected):
    assert said["error"] == "0", said
    assert said["value"] == VALUE
    for key, value in expected.items():
        assert said[key] == str(value), said


def test_waits_go_on_as_if_nothing_had_been(inject, sleepers):
    """A thread in each kind of wait: the wait ends in time, with the right result and without
    EINTR."""
    mask = ("SigBlk", "SigIgn", "SigCgt", "Threads")
    with contextlib.ExitStack() as stack:
        programs = {kind: stack.enter_context(running([sleepers, kind, "12000"])) for kind in KINDS}
        let_time_pass(1, "a wait that begins anew shall end late")
        for kind, program in programs.items():
            wait_for_call(program.pid)
            before = status(program.pid, *mask)
            first = inject(program.pid, "injected", "-w", 41)
            again = inject(program.pid, "injected", "-w", 1, library="-")
            assert_called(first, word=42, loaded=0)
            assert_called(again, word=2, loaded=1)
            wait_for_call(program.pid)  # the mask may be that of the wait, to which the thread has to return first
            assert status(program.pid, *mask) == before, kind
            print(f"{kind}: load {first['stopped_us']} us, call {again['stopped_us']} us")
        for kind, program in programs.items():
            said = finish(program)
            assert (said["result"], said["errno"]) == ("0", "0"), (kind, said)
            assert 11900 < float(said["took_ms"]) < 12900, (kind, said)  # one that begins anew takes more than 13000


def test_leaves_nothing_but_the_library(inject, sleepers):
    with running([sleepers, "nanosleep", "3000"]) as program:
        wait_for_call(program.pid)
        # The first malloc of a program makes its heap; here the injected function does it.
        maps_before, fds_before = maps(program.pid), descriptors(program.pid)
        assert_called(inject(program.pid))
        maps_after = maps(program.pid)
        new = {name for name in maps_after if maps_after[name] != maps_before.get(name)}
        assert "/memfd:injected (deleted)" in new
        assert new <= {"/memfd:injected (deleted)", "[heap]", ""}, new
        assert descriptors(program.pid) == fds_before
        assert_called(inject(program.pid, library="-"))
        assert maps(program.pid) == maps_after
        assert descriptors(program.pid) == fds_before


def test_loads_once(inject, sleepers):
    with running([sleepers, "nanosleep", "3000"]) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid), loaded=0)
        mapped = maps(program.pid)
        assert_called(inject(program.pid), loaded=1)
        assert maps(program.pid) == mapped


def test_two_libraries(inject, sleepers, built, tmp_path):
    """The loader must not mistake the second library for the first, although both may be descriptor
    5."""
    source = tmp_path / "other.c"
    source.write_text("int other(void *arg) { ++*(long *)arg; return -4711; }\n")
    other = tmp_path / "other.so"
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", other], check=True)
    with running([sleepers, "nanosleep", "3000"]) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid))
        assert_called(inject(program.pid, "other", library=other), loaded=0)


def test_libraries_from_descriptors_of_the_program(inject, tmp_path):
    """A program that loads libraries from descriptors of its own gets these, not the one that was
    injected through a descriptor of the same number."""
    source = tmp_path / "own.c"
    source.write_text("int own(void) { return 17; }\n")
    own = tmp_path / "own.so"
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", own], check=True)
    code = f"""
import ctypes, os, sys
print("ready", flush=True)
sys.stdin.read(1)
for i in range(4):
    fd = os.memfd_create("own")
    os.write(fd, open({str(own)!r}, "rb").read())
    print(ctypes.CDLL(f"/proc/self/fd/{{fd}}").own(), flush=True)
"""
    with running(["/usr/bin/python3", "-c", code]) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid), loaded=0)
        said, _ = program.communicate(".", timeout=60)
        assert said.split() == ["17"] * 4


def test_takes_a_descriptor_over(inject, sleepers):
    with running([sleepers, "nanosleep", "3000"]) as program:
        wait_for_call(program.pid)
        before = descriptors(program.pid)
        assert_called(inject(program.pid, "injected_fd", "-f"), fd="hello")
        assert_called(inject(program.pid, "injected_fd", "-f"), fd="hello")
        assert descriptors(program.pid) == before


@pytest.mark.costly
def test_registers_and_errno(inject, sleepers):
    with running([sleepers, "registers"]) as program:
        said = inject(program.pid, "injected", "-n", 100)
        assert said["error"] == "0", said
        program.send_signal(signal.SIGTERM)
        seen = finish(program)
    assert int(seen["rounds"]) > 100 and seen["bad"] == "0", seen


@pytest.mark.costly
def test_always_in_malloc(inject, sleepers):
    """Four threads that do nothing but allocate: 400 calls, and no deadlock."""
    with running([sleepers, "churn", "4"]) as program:
        said = inject(program.pid, "injected", "-n", 400, "-p", 20000, timeout=600)
        assert said["error"] == "0", said
        program.send_signal(signal.SIGTERM)
        assert int(finish(program)["churned"]) > 0
    print("\n" + ", ".join(f"{key} {value}" for key, value in said.items()))


@pytest.mark.costly
def test_all_comes_and_goes(inject, sleepers):
    """While libraries are loaded and unloaded, and children and threads start and end."""
    with running([sleepers, "come_and_go"]) as program:
        said = inject(program.pid, "injected", "-n", 200, "-p", 20000, timeout=600)
        assert said["error"] == "0", said
        program.send_signal(signal.SIGTERM)
        assert int(finish(program)["forks"]) > 0
    print("\n" + ", ".join(f"{key} {value}" for key, value in said.items()))


def test_own_malloc(inject, target):
    """A program with an embedded allocator: possible in a wait, but not while it runs."""
    program_path = target("own_malloc_sleeper")
    with running([program_path, "sleep"]) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid))
    with running([program_path, "run"]) as program:
        wait_for_computing(program.pid)  # no longer in the call that writes "ready"
        said = inject(program.pid, "injected", "-p", 1500)
        assert "safe" in said["words"] and "allocator of its own" in said["detail"], said
        assert int(said["tries"]) > 3


# --- signals ---


def test_signals_are_delivered_once(inject, sleepers):
    """Signals sent while the thread is borrowed, by the called function itself: also the signal of
    a fault."""
    with running([sleepers, "signals", "4000"]) as program:
        wait_for_call(program.pid)
        for _ in range(20):
            assert_called(inject(program.pid, "injected_signal"))
            wait_for_signals(program.pid)
        said = finish(program)
    assert (said["signal10"], said["signal11"]) == ("20", "20"), said


@pytest.mark.costly
def test_signals_in_a_storm(inject, sleepers):
    """Real-time signals from outside, which are queued: each is counted, none twice."""
    with running([sleepers, "signals", "6000"]) as program:
        wait_for_call(program.pid)
        sent = 0
        over = threading.Event()

        def send():
            nonlocal sent
            while not over.is_set():
                os.kill(program.pid, signal.SIGRTMIN + 3)
                sent += 1
                let_time_pass(0.0005, "how often a signal comes")

        sender = threading.Thread(target=send)
        sender.start()
        calls = [inject(program.pid) for _ in range(100)]
        over.set()
        sender.join()
        assert all(call["error"] == "0" for call in calls), calls
        said = finish(program)
    assert said[f"signal{signal.SIGRTMIN + 3}"] == str(sent), said


def test_ignored_faults(inject, sleepers):
    with running([sleepers, "ignore_segv", "2000"]) as program:
        wait_for_call(program.pid)
        before = status(program.pid, "SigIgn")
        assert int(before[0], 16) >> 10 & 1
        assert_called(inject(program.pid))
        assert status(program.pid, "SigIgn") == before
        assert finish(program)["result"] == "0"
    with running([sleepers, "ignore_both", "2000"]) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid))
        assert finish(program)["result"] == "0"


@pytest.mark.costly
def test_faults_of_the_program(inject, sleepers):
    """Stopped between a fault and its signal, a thread gets the signal at its next instruction. This
    is no crash of the function that the thread is to call, and the program gets its signal."""
    with running([sleepers, "faults"]) as program:
        said = inject(program.pid, "injected", "-n", 400)
        assert said["error"] == "0", said
        program.send_signal(signal.SIGTERM)
        seen = finish(program)
    assert (seen["traps_lost"], seen["faults_lost"]) == ("0", "0"), seen


def test_blocked_faults(inject, sleepers):
    with running([sleepers, "block_all", "2000"]) as program:
        wait_for_call(program.pid)
        before = status(program.pid, "SigBlk")
        assert_called(inject(program.pid))
        assert status(program.pid, "SigBlk") == before
        assert finish(program)["result"] == "0"


def test_a_stop_meanwhile(inject, sleepers):
    """SIGSTOP to the process while the call runs: it stops after the call, and continues on
    SIGCONT."""
    with running([sleepers, "nanosleep", "1500"]) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid, "injected_stop"))
        wait_for_state(program.pid, "T")
        program.send_signal(signal.SIGCONT)
        assert finish(program)["result"] == "0"


def test_a_crash_in_the_call(inject, sleepers):
    with running([sleepers, "nanosleep", "1500"]) as program:
        wait_for_call(program.pid)
        before = status(program.pid, "SigBlk", "SigCgt")
        said = inject(program.pid, "injected_crash")
        assert "crashed" in said["words"] and "signal 11" in said["detail"], said
        assert status(program.pid, "SigBlk", "SigCgt") == before
        assert inject(program.pid, "injected_crash", library="-")["detail"].endswith(", in heapscope's library")
        assert_called(inject(program.pid, library="-"))
        assert finish(program)["result"] == "0"


@pytest.mark.slow
def test_a_call_that_hangs(inject, sleepers):
    with running([sleepers, "nanosleep", "8000"]) as program:
        wait_for_call(program.pid)
        said = inject(program.pid, "injected_hang")
        assert "took too long" in said["words"], said
        assert float(said["stopped_us"]) < 4000000, said
        assert_called(inject(program.pid, library="-"))
        assert finish(program)["result"] == "0"


@pytest.mark.costly
def test_a_call_that_works_long(inject, sleepers):
    """Longer than any lock would be waited for: the call may finish."""
    with running([sleepers, "nanosleep", "5000"]) as program:
        wait_for_call(program.pid)
        said = inject(program.pid, "injected_work")
        assert_called(said)
        assert float(said["stopped_us"]) > 2500000
        assert finish(program)["result"] == "0"


def test_killed_meanwhile(inject, sleepers):
    with running([sleepers, "nanosleep", "5000"]) as program:
        wait_for_call(program.pid)
        assert "ended" in inject(program.pid, "injected_kill")["words"]


def test_execs_meanwhile(inject, sleepers):
    with running([sleepers, "nanosleep", "5000"]) as program:
        wait_for_call(program.pid)
        assert "another program" in inject(program.pid, "injected_exec")["words"]
        assert program.wait(timeout=20) == 0  # and it is unharmed


# --- real programs ---


@pytest.mark.costly
def test_python(inject):
    script = """
import json, threading, time
stop = time.time() + 4
def work():
    while time.time() < stop:
        assert json.loads(json.dumps([{"a": "x" * i} for i in range(50)]))[7]["a"] == "x" * 7
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
print("ready", flush=True)
[t.join() for t in threads]
print("result fine")
"""
    with running(["/usr/bin/python3", "-c", script]) as program:
        said = inject(program.pid, "injected", "-n", 50)
        assert said["error"] == "0", said
        assert finish(program)["result"] == "fine"
    print("\n" + ", ".join(f"{key} {value}" for key, value in said.items()))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("redis-server"), reason="no redis-server")
def test_redis(inject, tmp_path):
    port = 20000 + os.getpid() % 20000
    with running(["redis-server", "--port", port, "--save", "", "--dir", tmp_path, "--io-threads", "4",
                  "--logfile", tmp_path / "log"], ready=None) as server:
        ping = ["redis-cli", "-p", str(port), "ping"]
        wait_until(lambda: subprocess.run(ping, capture_output=True, check=False).stdout == b"PONG\n", "redis does not answer",
                   every_s=0.1)
        load = subprocess.Popen(["redis-benchmark", "-p", str(port), "-q", "-n", "20000", "-t", "set,get"],
                                stdout=subprocess.DEVNULL)
        said = inject(server.pid, "injected", "-n", 50)
        assert load.wait(timeout=120) == 0
        assert said["error"] == "0", said
        pong = subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True, check=True)
        assert pong.stdout == b"PONG\n"
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
    print("\n" + ", ".join(f"{key} {value}" for key, value in said.items()))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("javac"), reason="no JDK")
def test_java(inject, tmp_path):
    (tmp_path / "Busy.java").write_text("""
public class Busy {
    public static void main(String[] a) throws Exception {
        Thread[] t = new Thread[3];
        for (int i = 0; i < 3; i++) {
            t[i] = new Thread(() -> {
                long end = System.currentTimeMillis() + 4000;
                while (System.currentTimeMillis() < end) {
                    byte[][] b = new byte[100][];
                    for (int k = 0; k < 100; k++) b[k] = new byte[k * 10];
                }
            });
            t[i].start();
        }
        System.out.println("ready");
        for (Thread x : t) x.join();
        System.out.println("result fine");
    }
}
""")
    subprocess.run(["javac", "Busy.java"], cwd=tmp_path, check=True)
    with running(["java", "-cp", tmp_path, "Busy"]) as program:
        said = inject(program.pid, "injected", "-n", 50)
        assert said["error"] == "0", said
        assert finish(program)["result"] == "fine"
    print("\n" + ", ".join(f"{key} {value}" for key, value in said.items()))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_node(inject):
    script = """
const end = Date.now() + 4000;
function work() {
    const a = [];
    for (let i = 0; i < 20000; i++) a.push({ x: i, s: 'a' + i });
    if (JSON.parse(JSON.stringify(a))[7].s !== 'a7') process.exit(1);
    if (Date.now() < end) setTimeout(work, 5); else console.log('result fine');
}
console.log('ready');
work();
"""
    with running(["node", "-e", script]) as program:
        said = inject(program.pid, "injected", "-n", 50)
        assert said["error"] == "0", said
        assert finish(program)["result"] == "fine"
    print("\n" + ", ".join(f"{key} {value}" for key, value in said.items()))


# --- other views of the file system ---


def unshared(command):
    """Runs the command in a mount namespace of its own; None: that is not possible here."""
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return ["unshare", "-m", *command] if probe.returncode == 0 else None


def test_other_mount_namespace(inject, sleepers, tmp_path):
    # Our library is hidden from it.
    command = unshared(["sh", "-c", f"mount -t tmpfs none {tmp_path.parent.parent} && exec {shlex.quote(sleepers)} nanosleep 2000"])
    if not command:
        pytest.skip("no mount namespaces here")
    with running(command) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid))
        assert finish(program)["result"] == "0"


@pytest.fixture
def chroot(sleepers, tmp_path):
    """A folder with the program and its libraries, and without /proc."""
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    root = tmp_path / "root"
    wanted = [sleepers] + [word for word in subprocess.run(["ldd", sleepers], capture_output=True, text=True,
                                                           check=True).stdout.split() if word.startswith("/")]
    for path in map(pathlib.Path, wanted):
        to = root / path.relative_to("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    (root / "proc").mkdir()
    return root


def test_chroot_without_proc(inject, sleepers, chroot):
    with running(["chroot", chroot, sleepers, "nanosleep", "2000"]) as program:
        wait_for_call(program.pid)
        assert "/proc" in inject(program.pid)["words"]
        assert finish(program)["result"] == "0"


def test_chroot_with_proc(inject, sleepers, chroot):
    command = unshared(["sh", "-c", f"mount -t proc none {chroot}/proc && exec chroot {chroot} {shlex.quote(sleepers)} nanosleep 2000"])
    if not command:
        pytest.skip("no mount namespaces here")
    with running(command) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid))
        assert finish(program)["result"] == "0"


def test_other_pid_namespace(inject, sleepers):
    """Where it has another pid, and where files in memory may not be executed."""
    probe = subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("no pid namespaces here")
    command = f"echo 2 > /proc/sys/vm/memfd_noexec; {shlex.quote(sleepers)} nanosleep 3000 & wait"
    with running(["unshare", "-pf", "--kill-child", "--mount-proc", "sh", "-c", command]) as outer:
        inner = subprocess.run(["pgrep", "-f", f"^{sleepers} nanosleep 3000"], capture_output=True, text=True,
                               check=True).stdout.split()
        wait_for_call(inner[0])
        assert_called(inject(inner[0], "injected_fd", "-f"), fd="hello")
        assert "result 0" in outer.stdout.read()


# --- refused with a message ---


def test_no_such_process(inject):
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert "no such process" in inject(gone.pid)["words"]


def test_zombie(inject):
    child = subprocess.Popen(["true"])
    wait_for_state(child.pid, "Z")
    assert "ending" in inject(child.pid)["words"]
    child.wait()


@pytest.mark.alone("threads of the kernel are not to be seen from the namespaces of the workers")
def test_kernel_thread(inject):
    if not os.path.exists("/proc/2/status") or "kthreadd" not in pathlib.Path("/proc/2/status").read_text():
        pytest.skip("no kernel threads to be seen")
    assert "kernel" in inject(2)["words"]


def test_static(inject, target):
    with running([target("sleepers", "-pthread", "-static"), "nanosleep", "3000"]) as program:
        assert "statically linked" in inject(program.pid)["words"]
    with running([target("sleepers", "-pthread", "-static-pie"), "nanosleep", "3000"]) as program:
        assert "statically linked" in inject(program.pid)["words"]


def test_32_bit(inject, tmp_path):
    source = tmp_path / "small.c"
    # Without libc, because a 32-bit one is rarely installed.
    source.write_text("""
void _start(void)
{
    static const struct { long s, ns; } time = { 20, 0 };
    __asm__ volatile("int $0x80" : : "a"(4), "b"(1), "c"("ready\\n"), "d"(6) : "memory");
    __asm__ volatile("int $0x80" : : "a"(162), "b"(&time), "c"(0) : "memory");
    __asm__ volatile("int $0x80" : : "a"(1), "b"(0));
}
""")
    made = subprocess.run(["gcc", "-m32", "-static", "-nostdlib", "-ffreestanding", "-fno-pic", "-no-pie", source, "-o",
                           tmp_path / "small"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip("gcc makes no 32-bit programs here: " + made.stderr.splitlines()[0])
    with running([tmp_path / "small"]) as program:
        assert "32-bit" in inject(program.pid)["words"]


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc")
def test_musl(inject, tmp_path):
    source = tmp_path / "sleep.c"
    source.write_text('#include <stdio.h>\n#include <unistd.h>\n'
                      'int main(void) { puts("ready"); fflush(stdout); sleep(20); return 0; }\n')
    subprocess.run(["musl-gcc", source, "-o", tmp_path / "sleep"], check=True)
    with running([tmp_path / "sleep"]) as program:
        wait_for_call(program.pid)
        said = inject(program.pid)
        assert "not glibc" in said["words"] and "ld-musl" in said["detail"], said


@contextlib.contextmanager
def starting(sleepers, fifo):
    """A program whose loader waits before it looks for libc: for the other end of a FIFO, which it takes for a library."""
    os.mkfifo(fifo)
    with running([sleepers, "nanosleep", "5000"], ready=None, env={**os.environ, "LD_PRELOAD": preloadable(fifo)},
                 stderr=subprocess.DEVNULL) as program:
        wait_until(lambda: pathlib.Path(f"/proc/{program.pid}/syscall").read_text().startswith("257 "), "it opens nothing")
        yield program


def test_while_its_loader_works(inject, sleepers, tmp_path):
    """The loader's list has no libc yet: heapscope waits for it, and does not say that there is another one."""
    with starting(sleepers, tmp_path / "fifo") as program:
        assert "only just started" in inject(program.pid, "injected", "-p", 100)["words"]
        threading.Timer(0.3, lambda: os.close(os.open(tmp_path / "fifo", os.O_WRONLY))).start()
        assert_called(inject(program.pid, "injected", "-p", 20000))


def test_ends_while_its_loader_works(inject, sleepers, tmp_path):
    with starting(sleepers, tmp_path / "fifo") as program:
        threading.Timer(0.3, program.kill).start()
        words_of = inject(program.pid, "injected", "-p", 20000)["words"]
        assert "ended meanwhile" in words_of or "ending" in words_of, words_of


def test_started_by_its_loader(inject, sleepers):
    """ld.so PROGRAM: for the kernel, the program is the loader."""
    loader = "/lib64/ld-linux-x86-64.so.2"
    if not os.path.exists(loader):
        pytest.skip("no " + loader)
    with running([loader, sleepers, "nanosleep", "2000"]) as program:
        wait_for_call(program.pid)
        assert_called(inject(program.pid))
        assert finish(program)["result"] == "0"


def test_stopped(inject, sleepers):
    with running([sleepers, "nanosleep", "2000"]) as program:
        wait_for_call(program.pid)
        program.send_signal(signal.SIGSTOP)
        wait_for_state(program.pid, "T")
        assert "stopped" in inject(program.pid)["words"]
        assert status(program.pid, "State")[0][0] == "T"
        program.send_signal(signal.SIGCONT)
        assert_called(inject(program.pid))


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
def test_traced(inject, sleepers):
    with running([sleepers, "nanosleep", "5000"]) as program:
        tracer = subprocess.Popen(["strace", "-p", str(program.pid), "-o", "/dev/null"],
                                  stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: tracer_of(program.pid) == tracer.pid, "strace does not attach")
            said = inject(program.pid)
            assert "traced" in said["words"] and f"strace, process {tracer.pid}" in said["detail"], said
        finally:
            tracer.terminate()
            tracer.wait()


FREEZERS = [("/sys/fs/cgroup", "cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"),
            ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"),
            ("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN")]


@pytest.mark.parametrize("freezer", FREEZERS, ids=[freezer[0] for freezer in FREEZERS])
def test_frozen(inject, sleepers, freezer):
    folder, switch, frozen, thawed, state, word = freezer
    group = pathlib.Path(folder) / f"heapscope-test-{os.getpid()}"
    if not (pathlib.Path(folder) / "cgroup.procs").exists():
        pytest.skip(f"no control groups at {folder}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        with running([sleepers, "nanosleep", "3000"]) as program:
            wait_for_call(program.pid)
            (group / "cgroup.procs").write_text(str(program.pid))
            (group / switch).write_text(frozen)
            try:
                wait_until(lambda: word in (group / state).read_text(), "the group does not freeze")
                assert "frozen" in inject(program.pid)["words"]
            finally:
                (group / switch).write_text(thawed)
            assert_called(inject(program.pid))
    finally:
        group.rmdir()


def test_seccomp(inject, sleepers):
    """A filter that allows everything; only root can find that out. The sleep continues with the
    rest of its time."""
    with running([sleepers, "seccomp", "2000"]) as program:
        wait_for_call(program.pid)
        said = inject(program.pid)
        if os.geteuid() == 0:
            assert_called(said)
        else:
            assert "run heapscope as root" in said["words"]
        assert finish(program)["result"] == "0"


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("becomes another user, which needs root")


def test_other_user(inject, sleepers):
    needs_root()
    with running([sleepers, "nanosleep", "3000"]) as program:
        assert "another user" in inject(program.pid, "injected", "-u", 65534)["words"]


def test_other_user_with_half_the_rights(inject, sleepers):
    needs_root()
    some = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with running([sleepers, "nanosleep", "3000"]) as program:
        said = inject(program.pid, prefix=[*some, "--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"])
        assert "CAP_DAC_OVERRIDE" in said["words"], said
        both = "+sys_ptrace,+dac_override"
        assert_called(inject(program.pid, prefix=[*some, f"--inh-caps={both}", f"--ambient-caps={both}"]))


def test_not_dumpable(inject, sleepers, tmp_path):
    needs_root()
    shutil.copy(sleepers, tmp_path / "program")
    let_others_in(tmp_path)

    def become_nobody():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)

    with running([tmp_path / "program", "undumpable", "3000"], preexec_fn=become_nobody) as program:
        wait_for_call(program.pid)
        said = inject(program.pid, "injected", "-u", 65534)
        assert "not dumpable" in said["words"], said
        assert_called(inject(program.pid))  # root may do it


def test_same_user(inject, sleepers, tmp_path):
    """Without root, into a process of the same user."""
    needs_root()
    shutil.copy(sleepers, tmp_path / "program")
    let_others_in(tmp_path)

    def become_nobody():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)

    with running([tmp_path / "program", "nanosleep", "3000"], preexec_fn=become_nobody) as program:
        wait_for_call(program.pid)
        said = inject(program.pid, "injected_fd", "-f", "-u", 65534)
        if "ptrace_scope" in said["detail"]:
            pytest.skip(said["detail"])
        assert_called(said, fd="hello")


def test_no_symbol(inject, sleepers):
    with running([sleepers, "nanosleep", "3000"]) as program:
        wait_for_call(program.pid)
        assert "no library" in inject(program.pid, "no_such_function", library="-")["words"]
        assert "no library" in inject(program.pid, "no_such_function")["words"]


def test_refused_by_the_loader(inject, sleepers, tmp_path):
    source = tmp_path / "needy.c"
    source.write_text("extern int nowhere(void); int injected(void *arg) { return nowhere() + (arg != 0); }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", tmp_path / "needy.so"], check=True)
    with running([sleepers, "nanosleep", "3000"]) as program:
        wait_for_call(program.pid)
        before = descriptors(program.pid)
        said = inject(program.pid, library=tmp_path / "needy.so")
        assert "refused" in said["words"] and "undefined symbol: nowhere" in said["detail"], said
        assert descriptors(program.pid) == before
        assert_called(inject(program.pid))


def test_library_that_is_none(inject, sleepers, tmp_path):
    (tmp_path / "text.so").write_text("not a library\n" * 100)
    with running([sleepers, "nanosleep", "3000"]) as program:
        wait_for_call(program.pid)
        assert "cannot be read" in inject(program.pid, library=tmp_path / "text.so")["words"]
        assert "cannot be read" in inject(program.pid, library=tmp_path / "none.so")["words"]


def test_no_descriptor_left(inject, sleepers):
    with running([sleepers, "no_fds", "3000"]) as program:
        wait_for_call(program.pid)
        said = inject(program.pid)
        assert "short of descriptors" in said["words"] and "Too many open files" in said["detail"], said
        assert finish(program)["result"] == "0"
