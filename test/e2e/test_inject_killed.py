"""heapscope is killed with SIGKILL while it has borrowed a thread of another process: that process
continues as if nothing had happened."""

import random
import shutil
import signal
import subprocess

import pytest
from injecting import assert_scheduled, build, descriptors, running, scheduling, tools_in, wait_for_call, words
from resident import need_ptrace
from waiting import let_time_pass, wait_until

KILLS = 80


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


@pytest.fixture(scope="session")
def built(built_once):
    return tools_in(built_once("inject", build))


@pytest.fixture
def sleepers(target):
    return target("sleepers", "-pthread")


def kill_in_its_midst(built, program, count, *options, symbol="injected"):
    """A tool that borrows a thread all the time is killed at a random moment, this many times."""
    tool, library = built
    moments = random.Random(4711)
    before = scheduling(program.pid)
    for turn in range(count):
        busy = subprocess.Popen([tool, str(program.pid), library, symbol, "-n", "90000", *options],
                                stdout=subprocess.DEVNULL)
        let_time_pass(0.002 + moments.random() * 0.006, "the tool is killed at any moment")
        busy.kill()
        busy.wait()
        assert program.poll() is None, f"dead after {turn + 1} kills: {program.returncode}"
        assert_scheduled(program.pid, before)


def assert_usable(built, program):
    tool, library = built
    said = words(subprocess.run([tool, str(program.pid), library, "injected", "-w", "1"], capture_output=True,
                                text=True, check=True, timeout=60).stdout)
    assert (said["error"], said["word"]) == ("0", "2"), said


@pytest.mark.costly
def test_registers_are_put_back(built, sleepers):
    with running([sleepers, "registers"]) as program:
        kill_in_its_midst(built, program, KILLS)
        assert_usable(built, program)
        program.send_signal(signal.SIGTERM)
        said = words(program.stdout.read())
        assert program.wait(timeout=60) == 0
    assert int(said["rounds"]) > 100 and said["bad"] == "0", said


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("kind", ["nanosleep", "poll", "cond", "read", "select"])
def test_waits_go_on(built, sleepers, kind):
    """The waits may take longer than otherwise, but do not return EINTR."""
    with running([sleepers, kind, "60000"]) as program:
        wait_for_call(program.pid)
        before = descriptors(program.pid)
        kill_in_its_midst(built, program, KILLS // 2)
        assert_usable(built, program)
        assert_none_left_open(program, before)


def killed_at(number, folder, *command):
    """Runs a command that is killed before its n-th system call that changes another process;
    False: it makes fewer."""
    calls = "ptrace,pwrite64"
    done = subprocess.run(["strace", "-f", "-qq", "-o", folder / "calls", "-e", f"trace={calls}",
                           "-e", f"inject={calls}:signal=KILL:when={number}", *map(str, command)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)
    return "killed by SIGKILL" in (folder / "calls").read_text(errors="replace") or done.returncode < 0


def assert_none_left_open(program, before):
    """The thread may still be running the return chain."""
    wait_until(lambda: descriptors(program.pid) == before, lambda: f"{descriptors(program.pid)}, not {before}")


@pytest.mark.costly
def test_at_each_step_of_loading(built, sleepers, tmp_path):
    """A descriptor that the program was made to open is closed once, wherever the tool is killed;
    no other descriptor is closed."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    tool, library = built
    number = 1
    while True:
        with running([sleepers, "nanosleep", "60000"]) as program:
            wait_for_call(program.pid)
            before = descriptors(program.pid)
            if not killed_at(number, tmp_path, tool, program.pid, library, "injected", "-w", "1"):
                break
            assert_none_left_open(program, before)
            assert program.poll() is None, f"dead, killed at {number}"
            assert_usable(built, program)
            assert_none_left_open(program, before)
        number += 1
    assert number > 20


@pytest.mark.costly
def test_forks_at_steps_of_loading(built, target, tmp_path):
    """The other threads fork all the time, and their children open libraries. No child fails, and no fork hangs."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    tool, library = built
    command = [target("forkers", "-pthread", "-ldl"), 2, target("library", "-shared", "-fPIC", "-DNUMBER=1")]
    number, is_killed = 1, True
    while is_killed:
        with running(command) as program:
            before = descriptors(program.pid)
            is_killed = killed_at(number, tmp_path, tool, program.pid, library, "injected", "-w", "1")
            assert_none_left_open(program, before)
            if is_killed:
                assert_usable(built, program)
            program.stdin.close()
            assert program.wait(timeout=60) == 0, f"killed at {number}"
        number += 3
    assert number > 20


@pytest.mark.costly
def test_at_each_step_of_attaching(dist, sleepers, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    number = 1
    while True:
        with running([sleepers, "nanosleep", "60000"]) as program:
            wait_for_call(program.pid)
            before = descriptors(program.pid)
            if not killed_at(number, tmp_path, dist / "bin/heapscope", "attach", program.pid, "-q", "-d", "1ms",
                             "-o", tmp_path / "x.pftrace"):
                break
            assert_none_left_open(program, before)
            assert program.poll() is None, f"dead, killed at {number}"
        number += 1
    assert number > 20


@pytest.mark.costly
def test_always_in_malloc(built, sleepers):
    with running([sleepers, "churn", "4"]) as program:
        kill_in_its_midst(built, program, KILLS)
        assert_usable(built, program)
        program.send_signal(signal.SIGTERM)
        assert int(words(program.stdout.read())["churned"]) > 0
        assert program.wait(timeout=60) == 0


def kill_attach(dist, program, folder, count):
    moments = random.Random(4711)
    before = scheduling(program.pid)
    for turn in range(count):
        command = subprocess.Popen([dist / "bin/heapscope", "attach", str(program.pid), "-q", "-o", folder / "lost.pftrace"],
                                   stderr=subprocess.DEVNULL)
        let_time_pass(moments.random() * 0.02, "heapscope is killed at any moment")
        command.kill()
        command.wait()
        assert program.poll() is None, f"dead after {turn + 1} kills: {program.returncode}"
        assert_scheduled(program.pid, before)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("words_of_it", [["nanosleep", "60000"], ["churn", "4"]], ids=["waits", "allocates"])
@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_attach(dist, sleepers, tmp_path, words_of_it, count):
    """Nothing is left open, and the next attach does not find that another process records."""
    with running([sleepers, *words_of_it]) as program:
        before = descriptors(program.pid)
        kill_attach(dist, program, tmp_path, count)
        done = subprocess.run([dist / "bin/heapscope", "attach", str(program.pid), "-d", "200ms", "-o",
                               tmp_path / "whole.pftrace"], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "whole.pftrace").exists()
        assert descriptors(program.pid) == before
        assert program.poll() is None
