"""Attaching to running processes: figures are exact, no program is harmed, nothing is left behind."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from conftest import clean_env
from resident import Resident, differences, need_ptrace
from truth import read_truth, truths_of_children
from waiting import let_time_pass, stop_process, tracer_of, wait_for_clients, wait_for_computing, wait_for_dumps, wait_for_program, wait_until


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


@pytest.fixture
def resident(target, tmp_path):
    started = []

    def call(**env):
        started.append(Resident(target("resident", "-pthread", "-ldl"), tmp_path, **env))
        return started[-1]

    yield call
    for one in started:
        one.stop()


def report_of(report, attached, *options):
    return report(attached.file, "--top", "all", "--view", "alloc_objects", *options)


def assert_exact(report, attached, *truths):
    found = report_of(report, attached)
    different, sites = differences(found, read_truth(*truths))
    assert not different, different
    assert "site_before" not in sites
    assert not found["losses"], found["losses"]
    assert all(not p["is_from_startup"] or p.get("forked_from_pid") for p in found["processes"])
    return found


# --- figures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["work"], ["threads"], ["work", "threads", "work"]])
def test_exact_from_now_on(resident, attach, report, words):
    """Blocks from before do not count, whether they are freed, reallocated or stay."""
    program = resident()
    program.tell("before")
    session = attach(program.pid)
    assert session.is_recording, session.said
    program.tell(*words)
    assert session.stop() == 0, session.said
    found = assert_exact(report, session, program.truth_path)
    assert found["processes"][0]["rss_start_bytes"] > 1 << 20
    assert found["processes"][0]["name"].startswith("resident-")
    assert found["processes"][0]["cmdline"].endswith(program.process.args[0])
    program.tell("work")  # it continues as before


def test_again_counts_anew(resident, attach, report):
    program = resident()
    for _ in range(3):
        session = attach(program.pid)
        already = read_truth(program.truth_path)
        program.tell("work")
        assert session.stop() == 0, session.said
        now = read_truth(program.truth_path)
        _, sites = differences(report_of(report, session), {})
        assert sites == {n: now[n] - already.get(n, (0, 0, 0, 0)) for n in sites} and sites


def test_library_that_is_loaded_later(resident, attach, report, target, tmp_path):
    library = target("plugin", "-shared", "-fPIC", "-DSITE_NAME=site_plugin")
    program = resident(PLUGIN=library)
    program.tell("before")
    session = attach(program.pid)
    program.tell("plugin", "work")
    assert session.stop() == 0, session.said
    found = assert_exact(report, session, program.truth_path)
    assert any(f["function"].startswith("site_plugin") for s in found["stacks"] for f in s["frames"])


def test_forked_child(resident, attach, heapscope, report):
    """A child begins with the blocks that its parent allocated since the session began."""
    program = resident()
    program.tell("before")
    session = attach(program.pid)
    program.tell("work", "fork")
    program.wait_for_child()
    children = truths_of_children(program.truth_path)
    assert len(children) == 1
    wait_for_clients(heapscope, session.name, children)
    assert session.stop() == 0, session.said
    for pid, path in [(program.pid, program.truth_path), *children.items()]:
        found = report_of(report, session, "--pid", pid)
        different, sites = differences(found, read_truth(path))
        assert not different, (pid, different)
        assert "site_before" not in sites


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_target_that_dies(resident, attach, report, how):
    """However the process dies, everything that was recorded until then is in the file."""
    program = resident()
    session = attach(program.pid)
    program.tell("before", "work")
    if how == "kill":
        program.tell("kill")
    else:
        program.process.stdin.close()
    program.process.wait()
    assert session.wait() == 0, session.said
    found = report_of(report, session)
    different, _ = differences(found, read_truth(program.truth_path))
    assert not {n: d for n, d in different.items() if n != "site_before"}, different
    (process,) = found["processes"]
    # Before Linux 6.15 only a zombie tells its status, and its parent may wait for it first.
    assert process.get("exit_signal" if how == "kill" else "exit_status", process["end"]) in (
        signal.SIGKILL if how == "kill" else 0, "ended; how it ended is not known")


def test_sampled(resident, attach, report):
    program = resident()
    session = attach(program.pid, options=("-i", 64))
    program.tell("work", "threads")
    assert session.stop() == 0, session.said
    found = report_of(report, session)
    truth = read_truth(program.truth_path)
    true_bytes = sum(a.alloc_bytes for a in truth.values())
    _, sites = differences(found, truth)
    assert abs(sum(a.alloc_bytes for a in sites.values()) / true_bytes - 1) < 0.05


# --- which processes, when, how long ------------------------------------------------------------------


def test_by_name_and_for_a_time(resident, heapscope, report, target, tmp_path):
    """Attaches to all processes of that name, for that time."""
    name = f"hs-resident-{os.getpid()}"
    program = tmp_path / name
    shutil.copy(target("resident", "-pthread", "-ldl"), program)
    processes = [subprocess.Popen([program], stdin=subprocess.PIPE, env=clean_env()) for _ in range(3)]
    try:
        for process in processes:
            wait_for_program(process.pid, name)
        done = heapscope("attach", "-q", "-n", "hs-resident-*", "-d", "300ms", "-o", tmp_path / "x.pftrace")
        assert done.returncode == 0, done.stderr
        found = report(tmp_path / "x.pftrace")
        assert {p["pid"] for p in found["processes"]} == {p.pid for p in processes}
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_dumps_on_demand_and_at_intervals(resident, attach, heapscope, report):
    program = resident()
    session = attach(program.pid, options=("-i", 1, "--dump-every", "10s"))
    for count in range(2):
        program.tell("work")
        session.process.send_signal(signal.SIGUSR1)
        wait_for_dumps(heapscope, session.name, count + 1)
    assert session.stop() == 0, session.said
    sizes = [report_of(report, session, "--snapshot", n)["totals"]["alloc"]["bytes"] for n in range(3)]
    assert sizes[0] * 1.5 < sizes[1] == sizes[2]


def test_one_session_at_a_time(resident, attach, heapscope, report):
    program = resident()
    program.tell("before")
    session = attach(program.pid)
    done = heapscope("attach", program.pid, "-d", "100ms", "-o", os.devnull)
    assert done.returncode == 1
    assert f"being profiled already, by process {session.process.pid}" in done.stderr
    program.tell("work")
    assert session.stop() == 0, session.said
    assert_exact(report, session, program.truth_path)


def test_collector_that_was_killed(resident, attach, heapscope, report):
    """No process is harmed; the next session takes over, or `detach` undoes everything."""
    program = resident()
    program.tell("before")
    attach(program.pid).stop(signal.SIGKILL)
    program.tell("work")
    truth_before = read_truth(program.truth_path)
    session = attach(program.pid)
    program.tell("work")
    assert session.stop() == 0, session.said
    _, sites = differences(report_of(report, session), {})
    now = read_truth(program.truth_path)
    assert sites["site_malloc"] == now["site_malloc"] - truth_before["site_malloc"]
    attach(program.pid).stop(signal.SIGKILL)
    done = heapscope("detach", program.pid)
    assert done.returncode == 0, done.stderr
    done = heapscope("detach", program.pid)
    assert done.returncode == 1 and "not attached" in done.stderr
    program.tell("work")


def test_library_that_libc_loads_for_itself(target, attach, report, tmp_path):
    """The library is not loaded by the program's own dlopen(), which the client would see, and only
    after the attach."""
    (tmp_path / "greedy.so").symlink_to(target("greedy_module", "-shared", "-fPIC"))
    (tmp_path / "gconv-modules").write_text("module GREEDY// INTERNAL greedy 1\n")
    with subprocess.Popen([target("converts")], env=clean_env(GCONV_PATH=tmp_path), text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as program:

        def tell(word):
            program.stdin.write(word + "\n")
            program.stdin.flush()
            return program.stdout.readline()

        assert program.stdout.readline() == "ready\n"
        session = attach(program.pid)
        assert session.is_recording, session.said
        assert tell("open") == "ok\n"
        let_time_pass(2.5, "heapscope looks for it every second")
        assert tell("convert") == "ok\n"
        assert session.stop() == 0, session.said
        program.stdin.close()
        assert program.wait(timeout=20) == 0
    found = report_of(report, session)
    counts = [s["alloc"]["count"] for s in found["stacks"] if any(f["function"] == "gconv" for f in s["frames"])]
    assert sum(counts) == 50, found["stacks"]


EXECUTES = """
import os, sys
kept = [bytes(5000 + i) for i in range(200)]
print("ready", flush=True)
sys.stdin.readline()
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
"""


def executing(tmp_path):
    (tmp_path / "executes.py").write_text(EXECUTES)
    program = subprocess.Popen(["/usr/bin/python3", tmp_path / "executes.py"], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert program.stdout.readline() == "ready\n"
    return program


def go_on(program):
    program.stdin.write("\n")
    program.stdin.flush()


def test_executes_another_program(attach, report, tmp_path):
    """The image ends there, and heapscope attaches to the next one."""
    with executing(tmp_path) as program:
        session = attach(program.pid)
        assert session.is_recording, session.said
        go_on(program)
        assert program.stdout.readline() == "ready\n"
        end = time.monotonic() + 20
        while time.monotonic() < end and f"attached to {program.pid} " not in (said := session.process.stderr.readline()):
            assert said
        go_on(program)
        assert program.wait(timeout=20) == 0
        assert session.process.wait(timeout=20) == 0
    found = report(session.file, "--view", "alloc_objects")
    assert [(p["pid"], p["end"]) for p in found["processes"]] == [
        (program.pid, "executed another program"), (program.pid, "exited with status 0")], found["processes"]


def test_executes_and_is_not_followed(attach, report, tmp_path):
    with executing(tmp_path) as program:
        session = attach(program.pid, "--no-follow")
        assert session.is_recording, session.said
        go_on(program)
        assert session.process.wait(timeout=20) == 0  # although the process still runs
        assert program.poll() is None
        assert f"process {program.pid} executed another program, which is not recorded" in session.process.stderr.read()
        go_on(program)
        assert program.wait(timeout=20) == 0
    assert [p["end"] for p in report(session.file)["processes"]] == ["executed another program"]


# --- what is left behind ------------------------------------------------------------------------------


def test_nothing_is_left(resident, heapscope, tmp_path):
    """After the first attach, no further mapping is added; descriptors and signals are as always."""
    program = resident()
    program.tell("before", "busy")
    state = None
    for _ in range(6):
        done = heapscope("attach", "-q", program.pid, "-i", 64, "-d", "20ms", "-o", tmp_path / "x.pftrace")
        assert done.returncode == 0, done.stderr
        status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
        signals = re.findall(r"^(?:Sig|Shd)\w+:\s.*", status, re.M)[1:]
        fds = sorted(os.listdir(f"/proc/{program.pid}/fd"))
        kept = program.our_mappings()
        now = (signals, fds, kept)
        assert state in (None, now)
        state = now
    assert 3 <= len(state[2]) <= 8  # the library's own segments
    program.tell("work")


def test_just_started(attach, tmp_path):
    """heapscope attaches before the loader is done: it waits for the loader instead of refusing."""
    for _ in range(10):
        with subprocess.Popen(["sleep", "60"]) as program:
            try:
                one = attach(program.pid, "-d", "10ms")
                assert one.process.wait(timeout=60) == 0, one.process.communicate()[1]
            finally:
                program.kill()


def test_refused_in_words(heapscope, tmp_path):
    done = heapscope("attach", 4194303, "-o", tmp_path / "x")
    assert done.returncode == 1 and "4194303" in done.stderr
    done = heapscope("attach", "-n", "no-such-program-here", "-o", tmp_path / "x")
    assert done.returncode == 1 and "no running process is called no-such-program-here; 'heapscope record -n" in done.stderr
    for wrong in (["attach"], ["attach", "sshd"], ["attach", "0"], ["attach", "1", "-i", "0"], ["detach"]):
        assert heapscope(*wrong).returncode == 2
    assert not (tmp_path / "x").exists()


@pytest.mark.costly
def test_interrupted_while_it_attaches(target, dist, tmp_path):
    """The first process is never at a safe point in its life of five seconds; the others are left
    alone then."""
    sleeper = [target("sleepers", "-pthread"), "nanosleep", "60000"]
    programs = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for command in ([target("own_malloc_sleeper"), "run"], sleeper, sleeper)]
    try:
        for program in programs:
            program.stdout.readline()
        wait_for_computing(programs[0].pid)  # no longer in the call that writes "ready"
        begin = time.monotonic()
        session = subprocess.Popen([dist / "bin/heapscope", "attach", "-o", tmp_path / "x.pftrace",
                                    *(str(p.pid) for p in programs)], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: tracer_of(programs[0].pid), "heapscope does not begin", every_s=0.0005)
        session.send_signal(signal.SIGINT)
        said = session.communicate(timeout=60)[1]
        assert session.returncode == 1 and "interrupted: heapscope attached to no process" in said, said
        assert said.count("cannot attach to") == 1, said
        assert time.monotonic() - begin < 20
    finally:
        for program in programs:
            program.kill()
            program.communicate()


def test_stopped_process(resident, heapscope, tmp_path):
    program = resident()
    stop_process(program.pid)
    done = heapscope("attach", program.pid, "-o", tmp_path / "x")
    assert done.returncode == 1 and "stopped" in done.stderr
    os.kill(program.pid, signal.SIGCONT)
    program.tell("work")
    assert not (tmp_path / "x").exists()
