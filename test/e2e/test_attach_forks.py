"""Other threads fork without a pause while a library is loaded into their process: each child can open libraries, and
nothing that it does is recorded as its parent's."""

import contextlib
import os
import pathlib
import subprocess

import pytest
from filters import deny
from injecting import build, running, tools_in, words
from resident import need_ptrace
from waiting import wait_until

# The part of the test's library that takes its time.
RESOLVE_MS = 60


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


@pytest.fixture(scope="session")
def tool(built_once):
    return tools_in(built_once("inject", build))[0]


@pytest.fixture
def slow_to_load(target):
    flags = ["-shared", "-fPIC", "-Wl,-z,now", "-Wl,-z,initfirst"]
    return lambda resolve_ms: target("slow_to_load", *flags, f"-DRESOLVE_MS={resolve_ms}")


@pytest.fixture
def forkers(target):
    """forkers(COUNT): a running test/target/forkers.c with so many threads. All its children must end well."""
    program, library = target("forkers", "-pthread", "-ldl"), target("library", "-shared", "-fPIC", "-DNUMBER=1")

    @contextlib.contextmanager
    def call(count):
        with running([program, count, library], stderr=subprocess.PIPE) as process:
            yield process
            process.stdin.close()
            assert process.stderr.read() == ""
            assert process.wait(timeout=60) == 0
            process.stderr.close()

    return call


def counts(process):
    """How many of its children have ended as they should, and how many have not."""
    process.stdin.write("\n")
    process.stdin.flush()
    return tuple(map(int, process.stdout.readline().split()))


def wait_for_forks(process, count):
    before = sum(counts(process))
    wait_until(lambda: sum(counts(process)) >= before + count, "the program does not fork any more")


def shared_code(pid):
    """The mappings that are executable and shared."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [line for line in lines if line.split()[1] == "r-xs"]


def test_forks_wait_while_a_library_is_loaded(tool, forkers, slow_to_load):
    """Without that, each child that is forked during the relocation dies of it: some ten."""
    for _ in range(3):
        with forkers(2) as program:
            wait_for_forks(program, 5)
            said = words(subprocess.run([tool, str(program.pid), slow_to_load(RESOLVE_MS), "injected"],
                                        capture_output=True, text=True, check=True, timeout=60).stdout)
            assert said["error"] == "0", said
            assert float(said["stopped_us"]) > RESOLVE_MS * 1000
            wait_for_forks(program, 20)
            assert counts(program)[1] == 0
            assert len(shared_code(program.pid)) == 1


def test_forks_wait_although_heapscope_is_killed(tool, forkers, slow_to_load):
    """The thread completes dlopen by itself. Later forks wait only until the time that heapscope has set."""
    with forkers(2) as program:
        wait_for_forks(program, 5)
        with subprocess.Popen([tool, str(program.pid), slow_to_load(RESOLVE_MS), "injected"],
                              stdout=subprocess.DEVNULL) as busy:
            wait_until(lambda: shared_code(program.pid), "it is not mapped", every_s=0.001)
            busy.kill()
        wait_for_forks(program, 200)


def test_a_single_thread_needs_no_page(tool, target, slow_to_load):
    with running([target("sleepers", "-pthread"), "nanosleep", "60000"]) as program:
        subprocess.run([tool, str(program.pid), slow_to_load(1), "injected"], check=True, timeout=60)
        assert shared_code(program.pid) == []


@pytest.mark.costly
def test_children_during_the_first_attach(heapscope, attach, forkers):
    """Without that, a child dies in one of six processes. A child whose fork waited runs no handler of the client's:
    what it allocates is not its parent's."""
    for _ in range(20):
        with forkers(4) as program:
            wait_for_forks(program, 5)
            session = attach(program.pid, "--no-follow")
            assert session.is_recording, session.said
            wait_for_forks(program, 8)
            assert session.stop() == 0, session.said
        tree = heapscope("report", "--tree", "--view", "alloc_objects", session.file).stdout
        assert "parent_allocate" in tree and "child_allocate" not in tree, tree


def test_a_filter_that_kills_for_what_holding_takes(heapscope, target, tmp_path):
    """Forks are not held there. Otherwise a thread that forks would be killed, and its process with it."""
    if os.geteuid() != 0:
        pytest.skip("a filter is read with CAP_SYS_ADMIN only")
    library = target("library", "-shared", "-fPIC", "-DNUMBER=1")
    command = [target("filtered"), *deny("kill", "nanosleep"), "--", target("forkers", "-pthread", "-ldl"), 2, library]
    with running(command, stderr=subprocess.DEVNULL) as program:
        done = heapscope("attach", program.pid, "-q", "-d", "50ms", "-o", tmp_path / "x.pftrace")
        assert done.returncode == 0, done.stderr
        wait_for_forks(program, 20)
        assert shared_code(program.pid) == []
