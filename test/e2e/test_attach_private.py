"""Attaching to programs with an allocator besides malloc, under other names: je_malloc,
_rjem_mallocx, mi_free."""

import os
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, TARGETS
from resident import Resident, code_of, differences, leave_to_itself, need_ptrace
from truth import Amounts, read_sites, read_truth, truths_of_children
from waiting import wait_until

JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.a")
PUBLIC = """aligned_alloc calloc dallocx free mallctl mallctlbymib mallctlnametomib malloc malloc_stats_print
malloc_usable_size mallocx memalign nallocx posix_memalign rallocx realloc sallocx sdallocx valloc xallocx""".split()
LINKED = ("-pthread", "-ldl", "-lm", "-lstdc++")


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


def jemalloc_with(prefix):
    """The system's jemalloc, under the names that it has when it is configured with a prefix."""
    if not JEMALLOC.exists():
        pytest.skip(f"{JEMALLOC} is not there")
    archive = ROOT / "build" / "target" / f"lib{prefix or 'hidden_'}jemalloc.a"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        made = archive.with_suffix(f".{os.getpid()}")
        names = [f"--redefine-sym={name}={prefix}{name}" for name in PUBLIC]
        subprocess.run(["objcopy", *names, JEMALLOC, made], check=True)
        made.rename(archive)
    return ("-DHAS_MALLOCX", f"-DPREFIX={prefix}", "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *LINKED)


def toy_with(prefix):
    """The toy allocator of the tests, whose functions call each other by name, under other names."""
    names = "malloc free calloc realloc memalign aligned_alloc posix_memalign valloc pvalloc".split()
    out = ROOT / "build" / "target" / f"toy_{prefix}.o"
    made = out.with_suffix(f".{os.getpid()}")
    out.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-c", "-g", "-O1", "-fno-builtin", *(f"-D{name}={prefix}{name}" for name in names)]
    subprocess.run([*command, str(TARGETS / "toy_linked.c"), "-o", str(made)], check=True)
    made.rename(out)
    return (f"-DPREFIX={prefix}", str(out), "-pthread")


KINDS = {
    "je_": lambda: jemalloc_with("je_"),
    "_rjem_": lambda: jemalloc_with("_rjem_"),
    "no-pie": lambda: (*jemalloc_with("je_"), "-no-pie"),
    "exported": lambda: (*jemalloc_with("je_"), "-rdynamic"),
    # malloc itself, but only for the program: libraries use the C library's.
    "hidden": lambda: (*jemalloc_with(""), "-Wl,--exclude-libs,ALL"),
    # malloc itself, for everything; the program also calls functions that other mallocs do not
    # have.
    "whole": lambda: jemalloc_with(""),
    "toy": lambda: toy_with("mi_"),
    "two": lambda: (*jemalloc_with("je_"), *toy_with("mi_")[1:], "-DSECOND"),
    "unknown": lambda: toy_with("my_"),
}
KNOWN = [kind for kind in KINDS if kind != "unknown"]


@pytest.fixture
def private(target, tmp_path):
    started = []

    def call(kind, name="private_heap", strip=()):
        program = target(name, *(KINDS[kind]() if kind else ()))
        if strip:
            bare = str(tmp_path / "stripped")
            subprocess.run(["strip", *strip, program, "-o", bare], check=True)
            program = bare
        started.append(Resident(program, tmp_path))
        started[-1].tell("nothing")  # it answers when it is running
        return started[-1]

    yield call
    for one in started:
        one.stop()


def compare(report, session, program, before):
    """Nothing was lost, and everything allocated since `before` is reported to the byte."""
    found = report(session.file, "--top", "all", "--view", "alloc_objects")
    assert not found["losses"], found["losses"]
    different, sites = differences(found, read_truth(program.truth_path))
    new = {"site_before", "site_before_libc"}
    assert not different.keys() - new, different
    after = read_truth(program.truth_path)
    for name in new & after.keys():
        made = after[name] - before.get(name, Amounts())
        assert (sites[name].alloc_bytes, sites[name].alloc_count) == (made.alloc_bytes, made.alloc_count), name
    return sites


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("kind", KNOWN)
def test_exact_from_now_on(private, attach, report, kind):
    program = private(kind)
    program.tell("before")
    before = read_truth(program.truth_path)
    code = code_of(program)
    session = attach(program.pid)
    assert session.is_recording, session.said
    assert re.search(r"\d+ functions of its embedded allocator are redirected", session.said)
    assert code_of(program) != code
    program.tell("work", "before", "work")
    assert session.stop() == 0, session.said
    assert code_of(program) == code
    sites = compare(report, session, program, before)
    assert sites["site_malloc"].alloc_count == sites["site_libc"].alloc_count == 1000
    program.tell("work")


def test_all_ways_to_take_arguments(private, attach, report):
    program = private(None, "private_odd")
    session = attach(program.pid)
    assert session.is_recording, session.said
    program.tell("work")
    assert session.stop() == 0, session.said
    sites = compare(report, session, program, {})
    assert {"site_reallocf", "site_recalloc", "site_expand", "site_posix", "site_base"} <= sites.keys()


@pytest.mark.parametrize("kind", ["je_", "hidden"])
def test_operators(private, attach, report, kind):
    """C++'s operators also use this allocator. If they are exported, libraries call them through
    pointers; the program does not."""
    program = private(kind, "news")
    session = attach(program.pid)
    assert session.is_recording, session.said
    program.tell("work")
    assert session.stop() == 0, session.said
    found = report(session.file, "--top", "all", "--view", "alloc_objects")
    different, _ = differences(found, read_truth(program.truth_path))
    assert not different, different


@pytest.mark.costly
def test_sampled(private, attach, report):
    """Functions that call each other are not sampled twice: the estimate equals what was allocated."""
    program = private("toy")
    session = attach(program.pid, options=("-i", "512"))
    assert session.is_recording, session.said
    program.tell(*["work"] * 40)
    assert session.stop() == 0, session.said
    sites = read_sites(report(session.file, "--top", "all", "--view", "alloc_objects"))
    truth = read_truth(program.truth_path)
    for name in ("site_malloc", "site_calloc", "site_moved", "site_posix"):
        assert abs(sites[name].alloc_bytes / truth[name].alloc_bytes - 1) < 0.1, name


def test_only_by_the_word_of_the_user(private, attach, report):
    """my_malloc may be an allocator, or pass its calls on to malloc."""
    program = private("unknown")
    session = attach(program.pid)
    assert session.is_recording and "embedded allocator" not in session.said
    program.tell("work")
    assert session.stop() == 0, session.said
    # What the unknown allocator maps is in another heap.
    sites = read_sites(report(session.file, "--heap", "libc.malloc", "--top", "all", "--view", "alloc_objects"))
    assert "site_libc" in sites and "site_malloc" not in sites
    before = read_truth(program.truth_path)
    session = attach(program.pid, options=("-i", "1", "--allocator", "my_"))
    assert session.is_recording, session.said
    program.tell("work")
    assert session.stop() == 0, session.said
    after = read_truth(program.truth_path)
    sites = read_sites(report(session.file, "--top", "all", "--view", "alloc_objects"))
    for name in ("site_malloc", "site_calloc", "site_libc", "site_moved"):
        assert sites[name].alloc_bytes == (after[name] - before[name]).alloc_bytes, name


def test_without_symbols(private, attach, report, heapscope):
    """Blocks that the C library's malloc serves are recorded all the same."""
    program = private("je_", strip=("-s",))
    session = attach(program.pid)
    assert session.is_recording, session.said
    assert "embedded allocator" not in session.said
    program.tell("work")
    assert session.stop() == 0, session.said
    done = heapscope("attach", "--allocator", "je_", str(program.pid))
    assert done.returncode == 1 and "no functions like je_malloc" in done.stderr, done.stderr


@pytest.mark.parametrize("kind, said", [("two", "je_malloc, mi_malloc and so on"), ("hidden", "(malloc and so on)")])
def test_doctor_tells(private, heapscope, kind, said):
    program = private(kind)
    assert said in " ".join(heapscope("doctor", str(program.pid)).stdout.split())


def test_without_debug_information(private, attach, report):
    program = private("je_", strip=("-g",))
    session = attach(program.pid)
    assert session.is_recording, session.said
    program.tell("work")
    assert session.stop() == 0, session.said
    compare(report, session, program, {})


@pytest.mark.costly
@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["je_", "toy"])
def test_many_times_under_load(private, attach, kind, count):
    program = private(kind)
    program.tell("busy")
    code = code_of(program)
    for _ in range(count):
        session = attach(program.pid, options=("-i", "4096"))
        assert session.is_recording, session.said
        assert session.stop() == 0, session.said
        assert program.process.poll() is None
        assert code_of(program) == code
    program.tell("work")


@pytest.mark.parametrize("how", ["detach", "attach"])
def test_after_a_killed_one(private, attach, heapscope, report, how):
    program = private("je_")
    code = leave_to_itself(program, attach)
    if how == "detach":
        done = heapscope("detach", str(program.pid))
        assert done.returncode == 0, done.stderr
    else:
        before = read_truth(program.truth_path)
        again = attach(program.pid)
        assert again.is_recording, again.said
        program.tell("work")
        assert again.stop() == 0, again.said
        sites = read_sites(report(again.file, "--top", "all", "--view", "alloc_objects"))
        after = read_truth(program.truth_path)
        assert sites["site_mallocx"].alloc_bytes == (after["site_mallocx"] - before["site_mallocx"]).alloc_bytes
    assert code_of(program) == code
    program.tell("work")


def test_children_go_on_and_are_told(private, attach, report, heapscope):
    program = private("_rjem_")
    code = code_of(program)
    session = attach(program.pid)
    assert session.is_recording, session.said
    program.tell("work", "fork")
    [(child, path)] = truths_of_children(program.truth_path).items()
    wait_until(lambda: str(child) in heapscope("list").stdout)
    assert session.stop() == 0, session.said
    assert code_of(program) == code
    for pid, truth_path in ((program.pid, program.truth_path), (child, path)):
        found = report(session.file, "--pid", pid, "--top", "all", "--view", "alloc_objects")
        different, _ = differences(found, read_truth(truth_path))
        assert not different, (pid, different)


# --- refused with a message --------------------------------------------------------------------------

TWO = r"""
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#define API __attribute__((noipa))
static char memory[1 << 20];
static size_t used;
API void *je_malloc(size_t n) { return memory + (used += n); }
API void je_free(void *p) { used += p == memory; }
#ifdef THREE
API void *tc_malloc(size_t n) { return memory + (used += 32 + n); }
API void tc_free(void *p) { used += p == memory + 3; }
API void *mi_malloc(size_t n) { return memory + (used += 16 + n); }
API void mi_free(void *p) { used += p == memory + 1; }
#endif
#ifdef SHORT
__asm__(".globl je_dallocx\n.type je_dallocx, @function\nje_dallocx: ret\n.size je_dallocx, . - je_dallocx\n");
#endif
#ifdef COPY
API void copy(void *p) __asm__("je_free.constprop.0");
API void copy(void *p) { used += p == memory + 2; }
#endif
int main(void) { je_free(je_malloc(1)); puts("ready"); fflush(stdout); sleep(60); return 0; }
"""


@pytest.mark.parametrize(
    "flag, said",
    [
        ("-DTHREE", r"more allocators than can be redirected.*--allocator tc_"),
        ("-DSHORT", r"cannot be redirected.*--allocator none.*its je_dallocx: it is too short"),
        ("-DCOPY", r"its je_free: the compiler made a copy of it"),
    ],
)
def test_refused(heapscope, tmp_path, flag, said):
    (tmp_path / "two.c").write_text(TWO)
    subprocess.run(["gcc", "-O1", flag, tmp_path / "two.c", "-o", tmp_path / "two"], check=True)
    with subprocess.Popen([tmp_path / "two"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            done = heapscope("attach", "-d", "1s", str(process.pid))
            assert done.returncode == 1 and re.search(said, done.stderr), done.stderr
            assert process.poll() is None
            output = ("-d", "50ms", "-o", str(tmp_path / "out.pftrace"))
            done = heapscope("attach", "--allocator", "none", *output, str(process.pid))
            assert done.returncode == 0, done.stderr
            if flag == "-DTHREE":
                done = heapscope("attach", "--allocator", "mi_", *output, str(process.pid))
                assert done.returncode == 0 and "2 functions of its embedded allocator" in done.stderr, done.stderr
        finally:
            process.kill()


@pytest.mark.parametrize("prefix", ["0x", "my-", "a" * 25])
def test_what_is_no_prefix(heapscope, prefix):
    done = heapscope("attach", "--allocator", prefix, "1")
    assert done.returncode == 2 and "cannot be the beginning of a function's name" in done.stderr
