"""Memory that a program maps itself: the heap `mmap`, with the stack that mapped each range."""

import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, clean_env
from own_allocators import ALL, flags_of
from resident import need_ptrace
from truth import behind

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
MIB = 1 << 20


def sites(report, file, *options):
    """{function: bytes that the program holds in ranges which it mapped}"""
    found = report(file, "--heap", "mmap", "--top", "all", *options)
    assert found["heaps"][0]["interval_bytes"] == 1 and not found["losses"], found["losses"]
    return {row["function"]: row["self"]["bytes"] for row in found["functions_by_self"] if row["self"]["bytes"]}


def truth(text):
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if line.startswith("site_")}


@pytest.mark.parametrize("interval", ["1", "4096", "1M"])
def test_every_range_by_its_stack(run, report, target, interval):
    """Split, opened by mprotect, moved by mremap, through syscall(): exact at every interval."""
    done = run([target("mapped")], "-i", interval)
    assert done.status == 0, done.stdout
    assert sites(report, done.file) == truth(done.stdout)


def test_without_the_heap(run, report, target):
    done = run([target("mapped")], "--heaps", "libc.malloc")
    assert done.status == 0 and "mmap" not in {h["name"] for h in report(done.file)["heaps"] if not h.get("is_left_out")}


def test_a_program_that_maps_nothing_has_one_heap(run, report, target):
    done = run([target("peaks"), 1], "-i", "1")
    assert [heap["name"] for heap in report(done.file)["heaps"]] == ["libc.malloc"]


@pytest.mark.costly
@pytest.mark.parametrize("threads,rounds,steps", [(1, 100, 100), (4, 60, 60)])
def test_equal_to_what_the_kernel_says(run, target, threads, rounds, steps):
    """At random, with calls that fail halfway; compared range by range in each round."""
    program = [target("mappings", "-pthread", f"-I{ROOT / 'src'}"), threads, rounds, steps, 1]
    done = run(program, timeout=180)
    assert done.status == 0 and f"{rounds} rounds" in done.stdout, done.stdout


def test_children_inherit_ranges(run, report, target):
    """Shared memory stays that of the process that mapped it: all processes together have it once."""
    done = run([target("mapped"), "fork"])
    assert done.status == 0
    pids = {p["pid"]: p for p in report(done.file)["processes"]}
    child = next(pid for pid, p in pids.items() if p.get("forked_from_pid"))
    first = done.stdout.index("site_mapped", 1)
    private = {name: size for name, size in truth(done.stdout[:first]).items() if name not in ("site_moved", "site_memfd")}
    assert sites(report, done.file, "--pid", str(child)) == private
    parent = next(pid for pid in pids if pid != child)
    assert sites(report, done.file, "--pid", str(parent)) == truth(done.stdout[first:])
    both = sites(report, done.file)
    assert (both["site_moved"], both["site_memfd"], both["site_syscall"]) == (7 * MIB, 4 * MIB, 10 * MIB)


def test_words(run, heapscope):
    """The summary says that the heap is exact, also of a child that maps nothing itself, and that live need not be resident."""
    script = ("import mmap, os, time\nm = mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE)\nif os.fork() == 0:\n"
              " b = [bytes(600) for _ in range(9999)]; os._exit(0)\nos.wait(); time.sleep(0.3)")
    done = run(["/usr/bin/python3", "-c", script])
    words = " ".join(heapscope("report", "--rss", done.file).stdout.split())
    assert "2 processes" in words or "1 more process" in words, words
    assert re.search(r"at a mean interval of 4.00 KiB \([^)]*mmap: exact\);", words) and "resident or not)" in words
    assert "counted in both" not in words and "Which stacks mapped the resident memory?" in words


def test_attached(attach, report, target):
    """What was mapped before is unknown, and may be unmapped."""
    need_ptrace()
    with subprocess.Popen([target("mapped"), "wait"], env=clean_env(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        session = attach(process.pid)
        assert session.is_recording, session.said
        process.stdin.write("go\n")
        process.stdin.flush()
        said = [process.stdout.readline() for _ in range(6)]
        session.stop()
        process.stdin.write("end\n")
        process.stdin.flush()
        assert process.wait(20) == 0
    assert sites(report, session.file) == truth("".join(said))
    # Of what was mapped before, 2 MiB are left; site_moved has written to one of its 7, site_data to none.
    lines = {line["kind"]: line for line in report(session.file)["ledger"]["lines"]}
    assert lines["mmap"]["count"] == 9 and abs(lines["mmap"]["rss_bytes"] - 67 * MIB) <= 16 * 4096
    assert lines["mmap"]["size_bytes"] == 77 * MIB and lines["anonymous"]["rss_bytes"] >= 2 * MIB
    stacks = report(session.file)["mapped_stacks"]
    assert sum(stack["rss_bytes"] for stack in stacks) == lines["mmap"]["rss_bytes"]
    resident = {stack["frames"][0]["function"]: stack["rss_bytes"] for stack in stacks}
    assert abs(resident["site_moved"] - MIB) <= 4 * 4096 and resident["site_data"] == 0
    assert abs(resident["site_memfd"] - 2 * MIB) <= 4096


def test_resident_memory_of_a_running_program(run, report, target):
    """Ledgers that are read while it runs know what it has mapped by then."""
    # Long enough for a reading after all of it was written, and without unmapping it at the end.
    script = ("import mmap, os, time; m = mmap.mmap(-1, 96 << 20, flags=mmap.MAP_PRIVATE); m.write(b'x' * (96 << 20)); "
              "time.sleep(1.3); os._exit(0)")
    done = run(["/usr/bin/python3", "-c", script])
    assert done.status == 0
    lines = {line["kind"]: line["rss_bytes"] for line in report(done.file)["ledger"]["lines"]}
    assert lines["mmap"] >= 96 * MIB and lines.get("anonymous", 0) < 10 * MIB


def test_memory_of_another_heap_is_counted_once(run, report, heaps, target, flags):
    """A registered heap has blocks in what the program has mapped: that range is no block of `mmap` any more."""
    done = run([target("api_arena", *flags[0], *flags[1])], "-i", "1")
    assert done.status == 0
    assert sites(report, done.file) == {"site_empty_arena": 3 * MIB, "site_mapped": 5 * MIB, "main": 2 * MIB}
    found = heaps(done.file)
    assert found["arena"][:2] == (777 + 64 * MIB, 2) and found["mmap"][:3] == (10 * MIB, 3, 18 * MIB)


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("interval", ["1", "4096"])
@pytest.mark.parametrize("mode", ["signals", "vfork", "cancel", "forks"])
def test_harmless(same, target, mode, interval):
    """Handlers that map memory inside our code, children of vfork, cancelled threads, forks of one thread of many."""
    same([target("maps_oddly", "-pthread"), mode], interval)


@pytest.mark.parametrize("kib", [65536, 131072])
def test_harmless_without_address_space(same, target, kib):
    same(["sh", "-c", f'ulimit -v {kib}; exec "$0" limit', target("maps_oddly", "-pthread")], "4096")


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc.so.4",
                                     "libtcmalloc_minimal.so.4"])
def test_memory_of_a_preloaded_allocator_is_not_counted(run, report, target, library):
    if not (LIBRARIES / library).exists():
        pytest.skip(f"{library} is not installed")
    done = run(behind(LIBRARIES / library, [target("mapped")]))
    assert done.status == 0, done.stdout
    found = sites(report, done.file)
    assert {name: found.pop(name) for name in truth(done.stdout)} == truth(done.stdout)
    assert all(name.startswith("libunwind") for name in found), found  # tcmalloc's, which maps for itself


@pytest.mark.parametrize("allocator", ALL)
def test_memory_of_an_allocator_in_the_executable_is_not_counted(run, report, target, allocator):
    done = run([target("allocates", *flags_of(allocator))])
    assert done.status == 0
    # tcmalloc brings a mmap() of its own, which calls syscall().
    assert sites(report, done.file) == {"mmap" if allocator == "tcmalloc" else "site_mapped": 3 * MIB}
