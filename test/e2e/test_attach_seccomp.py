"""Attaching to programs under seccomp filters. Where the filters allow it, it works as everywhere;
otherwise heapscope explains why not, and does no harm."""

import os
import re
import shutil
import subprocess
import time

import pytest
from conftest import clean_env, let_others_in
from filters import RESIDENT, client_calls, deny, docker, injection_calls, numbers, only, systemd
from resident import Resident, differences, need_ptrace
from truth import Amounts, new_truth, read_sites, read_truth, truths_of_children
from waiting import wait_for_clients, wait_for_program


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()
    if os.geteuid() != 0:
        pytest.skip("a filter is read with CAP_SYS_ADMIN only")


class Filtered(Resident):
    """test/target/resident.c under filters, which already apply to its exec, as in a container."""

    def __init__(self, target, folder, *rules, **env):
        command = [target("filtered"), *sum(rules, []), "--", target("resident", "-pthread", "-ldl")]
        self.truth_path = new_truth(folder)
        self.process = subprocess.Popen(
            command,
            env=clean_env(TRUTH_FILE=self.truth_path, **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid
        self.tell("before")


@pytest.fixture
def filtered(target, tmp_path):
    started = []

    def call(*rules, **more):
        started.append(Filtered(target, tmp_path, *rules, **more))
        return started[-1]

    yield call
    for one in started:
        one.stop()


def assert_exact(report, session, truth_path, *options):
    found = report(session.file, "--top", "all", "--view", "alloc_objects", *options)
    different, _ = differences(found, read_truth(truth_path))
    assert not different, different
    assert not found["losses"], found["losses"]
    return found


def prot(action, call, bits):
    return ["prot", action, str(numbers()[call]), str(bits)]


def everything():
    """Allows every call that we document as ours, and those of the program; every other call kills."""
    return RESIDENT.split() + list(injection_calls() | client_calls("RECORDING", "ENTRIES", "optional"))


ALLOWED = {
    "docker": docker,
    "systemd": systemd,
    "stacked": lambda: deny("kill", "ptrace") + deny("trap", "kexec_load") + docker() + systemd(),
    "long": lambda: ["long", "4096"],
    "long and docker": lambda: ["long", "4096"] + docker() + ["long", "4096"] * 5,
    "log": lambda: deny("log", "memfd_create", "mmap", "openat"),
    "our table": lambda: only("kill", everything()),
}


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(filtered, attach, report, heapscope, name):
    """Figures are exact, all optional features work, and the program continues."""
    program = filtered(ALLOWED[name]())
    session = attach(program.pid)
    assert session.is_recording, session.said
    program.tell("work", "threads", "work")
    assert session.stop() == 0, session.said
    assert_exact(report, session, program.truth_path)
    said = re.sub(r"\s+", " ", heapscope("doctor", program.pid).stdout)
    assert "allows all that heapscope's library makes" in said, said
    program.tell("work")


@pytest.mark.parametrize("name", ["docker", "our table"])
def test_forked_child(filtered, attach, heapscope, report, name):
    program = filtered(ALLOWED[name]())
    session = attach(program.pid)
    program.tell("work", "fork")
    program.wait_for_child()
    children = truths_of_children(program.truth_path)
    assert len(children) == 1
    wait_for_clients(heapscope, session.name, children)
    assert session.stop() == 0, session.said
    for pid, path in [(program.pid, program.truth_path), *children.items()]:
        assert_exact(report, session, path, "--pid", pid)


@pytest.mark.parametrize("name", ["docker", "our table"])
def test_library_that_is_loaded_later(filtered, attach, report, target, name):
    program = filtered(ALLOWED[name](), PLUGIN=target("plugin", "-shared", "-fPIC", "-DSITE_NAME=site_plugin"))
    session = attach(program.pid)
    program.tell("plugin", "work")
    assert session.stop() == 0, session.said
    assert_exact(report, session, program.truth_path)


def limited():
    """Kills for every call that we make without checking the filter first, except those that only
    names need."""
    careful = injection_calls() | client_calls("RECORDING", "ENTRIES")
    return only("kill", RESIDENT.split() + list(careful))


def test_careful(filtered, attach, report, target):
    """The filter kills for calls of optional features, so we do without them: also in children, and
    with libraries that are loaded later."""
    assert not careful_names() & set(RESIDENT.split())
    plugin = target("plugin", "-shared", "-fPIC", "-DSITE_NAME=site_plugin")
    program = filtered(limited(), PLUGIN=plugin)
    for _ in range(3):
        session = attach(program.pid)
        assert session.is_recording, session.said
        already = read_truth(program.truth_path)
        program.tell("work", "threads", "work", "fork")
        assert session.stop() == 0, session.said
        now = read_truth(program.truth_path)
        found = report(session.file, "--top", "all", "--view", "alloc_objects")
        _, sites = differences(found, {})
        assert sites == {n: now[n] - already.get(n, Amounts()) for n in sites}
        assert "site_thread" in sites and "site_malloc" in sites
        assert not found["losses"], found["losses"]
        assert len(found["processes"]) == 1
    session = attach(program.pid)
    program.tell("plugin", "work")
    assert session.stop() == 0, session.said
    assert program.process.poll() is None


def careful_names():
    return client_calls("optional") - injection_calls() - client_calls("RECORDING", "ENTRIES")


FORBIDDEN = {
    "memfd_create killed": (lambda: deny("kill", "memfd_create"), "it kills the process for memfd_create"),
    "memfd_create refused": (lambda: deny("errno", "memfd_create"), "it does not allow memfd_create: Operation"),
    "memfd_create trapped": (lambda: deny("trap", "memfd_create"), "it does not allow memfd_create: SIGSYS"),
    "traced": (lambda: deny("trace", "ftruncate"), "it asks a tracer about ftruncate"),
    "notified": (lambda: deny("notify", "prlimit64"), "it asks another process about prlimit64"),
    "memory": (lambda: deny("errno", "process_vm_readv"), "it does not allow process_vm_readv: Operation"),
    "tgkill": (lambda: deny("kill", "tgkill"), "it kills the process for tgkill"),
    "the second of two": (lambda: docker() + deny("kill", "memfd_create"), "it kills the process for memfd_create"),
    "restart_syscall": (lambda: deny("kill", "restart_syscall"), "it kills the process for restart_syscall"),
    "by place": (lambda: ["place", "kill", str(numbers()["memfd_create"])], "it kills the process for memfd_create"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden(filtered, attach, heapscope, name):
    rules, words = FORBIDDEN[name]
    program = filtered(rules())
    before = program.mappings()
    session = attach(program.pid)
    assert not session.is_recording
    assert session.wait() == 1
    assert words in session.said, session.said
    assert program.mappings() == before
    program.tell("work", "threads")
    said = heapscope("doctor", program.pid).stdout
    assert words in re.sub(r"\s+", " ", said), said


def test_sleeper_below_a_filter_without_restart_syscall(target, attach):
    """The program is stopped to read the filter, in a sleep that the kernel would resume by
    restart_syscall, which is denied here."""
    command = [target("filtered"), *deny("kill", "restart_syscall"), "--", "/bin/sleep", "2"]
    begin = time.monotonic()
    with subprocess.Popen(command) as sleeper:
        wait_for_program(sleeper.pid, "sleep")
        session = attach(sleeper.pid)
        assert session.wait() == 1
        assert "restart_syscall" in session.said, session.said
        assert sleeper.wait() == 0
    assert time.monotonic() - begin >= 2


def test_code_that_may_not_be_made_executable(filtered, attach, target, report):
    """As MemoryDenyWriteExecute= does: no obstacle, unless the allocator is part of the program."""
    program = filtered(prot("kill", "mprotect", 4))
    session = attach(program.pid)
    program.tell("work")
    assert session.stop() == 0, session.said
    assert_exact(report, session, program.truth_path)


def test_threads_with_different_filters(target, attach, tmp_path):
    """One of four filters kills for mremap, which each recording thread may call: so none is
    recorded."""
    with subprocess.Popen(
        [target("filtered_threads", "-pthread")], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout.readline() == "ready\n"
        session = attach(program.pid)
        assert session.wait() == 1
        assert "it kills the process for mremap" in session.said, session.said
        program.stdin.close()
        assert program.wait() == 0


def become_nobody():
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def test_not_root(target, dist, tmp_path):
    """The message says what to do: only the filter prevents the attach."""
    shutil.copytree(dist, tmp_path / "dist")
    shutil.copy(target("filtered"), tmp_path / "filtered")
    let_others_in(tmp_path)
    heapscope = str(tmp_path / "dist" / "bin" / "heapscope")
    command = [tmp_path / "filtered", *docker(), "--", "/bin/sleep", "60"]
    with subprocess.Popen(command, preexec_fn=become_nobody) as program:
        try:
            wait_for_program(program.pid, "sleep")
            for words in (["attach", "-o", "/dev/null"], ["doctor"]):
                said = subprocess.run(
                    [heapscope, *words, str(program.pid)],
                    env=clean_env(),
                    preexec_fn=become_nobody,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                text = re.sub(r"\s+", " ", said.stdout + said.stderr)
                assert said.returncode != 0 or words == ["doctor"], text
                assert "seccomp" in text and "run heapscope as root" in text, text
            assert program.poll() is None
        finally:
            program.kill()


@pytest.mark.costly
@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_rounds_in_a_container(filtered, attach, rounds):
    """With four threads that are always in malloc; each is stopped to read its filters too."""
    program = filtered(docker())
    program.tell("busy")
    maps = None
    for i in range(rounds):
        session = attach(program.pid, options=("-i", 4096))
        assert session.is_recording, (i, session.said)
        assert session.stop() == 0, (i, session.said)
        assert program.process.poll() is None
        maps = maps or len(program.mappings())
    assert len(program.mappings()) <= maps + 8
    program.tell("work")


@pytest.mark.parametrize("rules", [docker, systemd])
def test_run_in_a_container(target, report, dist, tmp_path, rules):
    """heapscope run under filters that were installed before: filters that let a program start also
    let the client work."""
    truth = new_truth(tmp_path)
    file = tmp_path / "run.pftrace"
    program = target("resident", "-pthread", "-ldl")
    heapscope = [str(dist / "bin" / "heapscope"), "run", "-i", "1", "-o", str(file), "--", program]
    done = subprocess.run(
        [target("filtered"), *rules(), "--", *heapscope],
        env=clean_env(TRUTH_FILE=truth),
        input="before\nwork\nthreads\nwork\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = report(file, "--top", "all", "--view", "alloc_objects")
    assert read_sites(found) == read_truth(truth)
