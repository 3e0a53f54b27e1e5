"""Attaching to programs with an embedded allocator: their functions are changed, and changed back."""

import re
import shutil
import subprocess

import pytest
from injecting import running
from own_allocators import ALL, POSITIONS, flags_of
from resident import Resident, code_of, differences, leave_to_itself, need_ptrace
from truth import read_sites, read_truth


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


@pytest.fixture
def resident(target, tmp_path):
    started = []

    def call(allocator, *position, name="resident"):
        program = target(name, *flags_of(allocator, position))
        started.append(Resident(program, tmp_path))
        started[-1].tell("nothing")  # it answers when it is running
        return started[-1]

    yield call
    for one in started:
        one.stop()


@pytest.mark.costly(cases=1)
@POSITIONS
@pytest.mark.parametrize("allocator", ALL)
def test_exact_from_now_on(resident, attach, report, allocator, position):
    program = resident(allocator, *position)
    program.tell("before")
    code = code_of(program)
    session = attach(program.pid)
    assert session.is_recording, session.said
    assert re.search(r"\d+ functions of its embedded allocator are redirected", session.said)
    assert code_of(program) != code
    program.tell("work", "threads", "work")
    assert session.stop() == 0, session.said
    assert code_of(program) == code
    found = report(session.file, "--top", "all", "--view", "alloc_objects")
    assert not found["losses"], found["losses"]
    assert not found["processes"][0]["has_own_malloc"]
    first = read_truth(program.truth_path)
    different, sites = differences(found, first)
    assert not different, different
    assert "site_before" not in sites
    # Allocations between the two sessions are in neither of them.
    program.tell("work")
    second = read_truth(program.truth_path)
    session = attach(program.pid)
    program.tell("work")
    assert session.stop() == 0, session.said
    last, sites = read_truth(program.truth_path), read_sites(
        report(session.file, "--top", "all", "--view", "alloc_objects")
    )
    for name in ("site_malloc", "site_calloc", "site_aligned", "site_memalign", "site_freed"):
        new = last[name] - second[name]
        assert sites[name].alloc_bytes == new.alloc_bytes > 0, name
        assert sites[name].alloc_count == new.alloc_count, name
    program.tell("work")


@pytest.mark.costly
@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("allocator", ALL)
def test_many_times_under_load(resident, attach, allocator, count):
    """Four threads are always inside the allocator; after each attach everything is as after the
    first."""
    program = resident(allocator)
    program.tell("busy")
    code = code_of(program)
    first, stops = None, []
    for _ in range(count):
        session = attach(program.pid, options=("-i", "4096"))
        assert session.is_recording, session.said
        assert session.stop() == 0, session.said
        assert program.process.poll() is None
        stops += [float(n) for n in re.findall(r"threads \(\d+\) were stopped for ([\d.]+) ms", session.said)]
        assert code_of(program) == code
        # Except for the mappings that the allocator makes for the program.
        shape = [line for line in program.mappings() if " rw-p 00000000 00:00 0" not in line]
        first = first or shape
        assert shape == first
    assert len(stops) == count
    print(f"{allocator}: all were stopped for {sorted(stops)[count // 2]} ms, at most {max(stops)}")
    program.tell("work")


def test_operators_that_bypass_malloc(target, tmp_path, attach, report):
    """tcmalloc's new and delete do not call its malloc; in this program they are part of the
    executable."""
    program = Resident(target("news", *flags_of("tcmalloc")), tmp_path)
    try:
        session = attach(program.pid)
        assert session.is_recording, session.said
        program.tell("work")
        assert session.stop() == 0, session.said
    finally:
        program.stop()
    found = report(session.file, "--top", "all", "--view", "alloc_objects")
    different, _ = differences(found, read_truth(program.truth_path))
    assert not different, different


def test_second_one_changes_nothing(resident, attach, heapscope):
    program = resident("jemalloc")
    session = attach(program.pid)
    assert session.is_recording, session.said
    code = code_of(program)
    done = heapscope("attach", "-d", "1s", str(program.pid))
    assert done.returncode == 1 and "being profiled already" in done.stderr
    assert code_of(program) == code
    assert session.stop() == 0, session.said
    assert code_of(program) != code


@pytest.mark.parametrize("how", ["detach", "attach"])
def test_after_a_killed_one(resident, attach, heapscope, how):
    """Its functions stay redirected to the client until some session changes that; the program
    works."""
    program = resident("jemalloc")
    code = leave_to_itself(program, attach)
    if how == "detach":
        done = heapscope("detach", str(program.pid))
        assert done.returncode == 0, done.stderr
    else:
        again = attach(program.pid)
        assert again.is_recording, again.said
        program.tell("work")
        assert again.stop() == 0, again.said
    assert code_of(program) == code
    program.tell("work")


def test_children_go_on_and_can_be_let_go(resident, attach):
    program = resident("jemalloc")
    code = code_of(program)
    session = attach(program.pid)
    assert session.is_recording, session.said
    program.tell("work", "fork", "work")
    assert session.stop() == 0, session.said
    assert code_of(program) == code


@pytest.mark.costly
def test_under_a_storm_of_signals(target, tmp_path, attach):
    """Signal handlers run in the middle of the allocator's first instructions, in four threads, on
    two kinds of stacks."""
    program = Resident(target("stormy", *flags_of("jemalloc")), tmp_path)
    try:
        for _ in range(20):
            session = attach(program.pid, options=("-i", "4096"))
            assert session.is_recording, session.said
            assert session.stop() == 0, session.said
            assert program.process.poll() is None
        program.tell("check")
    finally:
        program.stop()


@pytest.mark.costly
@pytest.mark.parametrize("allocator", ALL)
def test_the_first_thread_waits_for_the_others(heapscope, target, report, tmp_path, allocator):
    """None of the four threads that are always inside the allocator can be borrowed. The one in
    pthread_join can: pthread_join has no frame on its stack."""
    with running([target("joined", *flags_of(allocator), "-O2"), "4"]) as program:
        for turn in range(3):
            file = tmp_path / f"{turn}.pftrace"
            done = heapscope("attach", "-q", program.pid, "-d", "1s", "-o", file)
            assert done.returncode == 0, done.stderr
            assert report(file)["totals"]["alloc"]["count"] > 0
            assert program.poll() is None


# --- refused with a message --------------------------------------------------------------------------


def refusal(heapscope, command):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        done = heapscope("attach", "-d", "1s", str(process.pid))
        assert process.poll() is None
        assert done.returncode == 1
        return done.stderr
    finally:
        process.kill()
        process.wait()


def test_allocator_that_has_no_room_for_a_jump(heapscope, target):
    """Its free is one byte long."""
    said = refusal(heapscope, [target("own_malloc_sleeper", "-pthread"), "sleep"])
    assert re.search(r"its free: it is too short", said), said
    assert "link the allocator as a shared library" in said


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"]], ids=" ".join)
def test_static_programs(heapscope, target, flags):
    said = refusal(heapscope, [target("own_malloc_sleeper", "-pthread", *flags), "sleep"])
    assert "statically linked" in said and "link it dynamically" in said, said


SLEEPS = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("ready"); fflush(stdout); sleep(9); return 0; }\n'


def test_static_musl(heapscope, tmp_path):
    if not shutil.which("musl-gcc"):
        pytest.skip("there is no musl-gcc")
    (tmp_path / "sleeps.c").write_text(SLEEPS)
    subprocess.run(["musl-gcc", "-static", tmp_path / "sleeps.c", "-o", tmp_path / "sleeps"], check=True)
    assert "statically linked" in refusal(heapscope, [tmp_path / "sleeps"])


def test_musl_by_name(heapscope, tmp_path):
    if not shutil.which("musl-gcc"):
        pytest.skip("there is no musl-gcc")
    (tmp_path / "sleeps.c").write_text(SLEEPS)
    subprocess.run(["musl-gcc", tmp_path / "sleeps.c", "-o", tmp_path / "sleeps"], check=True)
    said = refusal(heapscope, [tmp_path / "sleeps"])
    assert "musl C library" in said and "static" not in said, said


def test_go(heapscope, tmp_path):
    if not shutil.which("go"):
        pytest.skip("there is no Go compiler")
    (tmp_path / "sleeps.go").write_text(
        'package main\nimport ("fmt"; "time")\nfunc main() { fmt.Println("ready"); time.Sleep(9 * time.Second) }\n'
    )
    subprocess.run(["go", "build", "-o", "sleeps", "sleeps.go"], cwd=tmp_path, check=True)
    assert "statically linked" in refusal(heapscope, [tmp_path / "sleeps"])
