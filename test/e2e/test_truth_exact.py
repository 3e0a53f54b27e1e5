"""With -i 1 the profile of a program whose heap is known to the byte equals the truth exactly.

Live and allocated, bytes and counts, for each call site. The programs are in test/target.
"""

import pathlib
import re
import struct
import subprocess
import tempfile

import pytest
from truth import behind, measure, site_of

FLAGS = ["-pthread"]
SHARED = ["-shared", "-fPIC"]
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"]


def allocator(name):
    path = LIBRARIES / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return str(path)


def test_every_function(exact):
    measured = exact(["family"])
    # The test itself is complete: all sites are there, with more than one block each.
    assert len(measured.truth) > 20
    assert measured.report["totals"]["alloc"]["count"] > 1500


@pytest.mark.parametrize("define", [[], ["-DBY_NAME"]], ids=["inside", "by-name"])
def test_every_function_of_a_toy(exact, target, define):
    """An allocator whose calloc and realloc call its malloc by name must not be counted twice."""
    exact(["family"], library=target("toy_bump", *SHARED, "-fno-builtin", *define))


@pytest.mark.parametrize("order", [[], ["fail-first"]], ids=["", "fail-first"])
def test_operators(exact, order):
    exact(["operators", *order])


def test_operators_that_the_program_replaces(exact, target):
    """It has its own new and delete; the library's array, sized and nothrow forms must call these."""
    alone = subprocess.run([target("operators", *FLAGS, "-DREPLACED")], stdout=subprocess.PIPE, check=True).stdout
    assert b"own operators" in alone and b"own operators 0" not in alone
    assert exact(["operators"], flags=["-DREPLACED"]).run.stdout.encode() == alone


@pytest.mark.parametrize("order", [[], ["fail-first"]], ids=["", "fail-first"])
@pytest.mark.parametrize("name", ALLOCATORS[:2])  # mimalloc's operators abort where others throw
def test_operators_of_an_allocator(exact, name, order):
    """These have operators that do not call malloc. The first call of each may throw."""
    exact(["operators", *order], library=allocator(name))


@pytest.mark.parametrize("name", [None, *ALLOCATORS])
def test_before_and_after_main(exact, target, name):
    exact(["early_late"], library=name and allocator(name))


def test_before_and_after_main_of_a_library(exact, target):
    measured = exact(["early_late"], library=target("early_late", "-DLIBRARY", *SHARED))
    assert "site_library_first_constructor" in measured.sites


@pytest.mark.parametrize("what", ["cross", "storm", "keys", "tiny", "raw"])
def test_threads(exact, what):
    exact(["threads", what])


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("threads", [1, 6])
def test_more_stacks_than_a_small_table_holds(exact, heapscope, threads):
    """2048 paths, 20 times. The first three threads get a replay table, in which the paths are
    found again."""
    measured = exact(["paths", 20, threads])
    health = heapscope("report", "--health", measured.run.file).stdout
    walked = int(re.search(r"([\d,]+)\s+stacks walked", health)[1].replace(",", ""))
    # Each path is walked once before its table is large and once after; and a few share their slot
    # with many others.
    of_large = 2048 * 4 * min(threads, 3)
    of_small = 2048 * 20 * max(threads - 3, 0)
    assert 2048 * threads <= walked <= of_large + of_small


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize("what", ["churn", "storm"])
def test_threads_of_an_allocator(exact, what, name):
    exact(["threads", what], library=allocator(name))


def test_short_threads(exact):
    exact(["threads", "churn", "5000"])


@pytest.mark.slow
def test_more_threads_than_ids(exact):
    """65,535 threads have an entry of their own; later ones share one."""
    exact(["threads", "churn", "70000"])


def test_blocks_that_share_a_grain(exact, target):
    exact(["threads", "pairs"], library=target("toy_pairs", *SHARED, "-fno-builtin", "-O2"))


def test_cancelled_threads(run, target, tmp_path):
    """300 threads are cancelled at any point: each may leave one unfinished operation."""
    bump = target("toy_bump", *SHARED, "-fno-builtin")
    program = behind(bump, [target("threads", *FLAGS), "cancel"])
    measured = measure(run, tmp_path, program)
    assert measured.run.status == 0
    assert set(measured.differences) <= {"site_cancelled"}
    assert all(abs(d) <= 300 for d in measured.differences.get("site_cancelled", [])[1::2])
    assert measured.truth["site_cancelled"].alloc_count > 10000


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("what", ["fork", "tree", "daemon"])
def test_forked_children_and_their_parent(exact, what):
    """Each process by itself: a child's allocations are not in its parent's figures, nor the
    reverse."""
    exact(["processes", what])


def test_forks_while_other_threads_allocate(run, target, tmp_path):
    """Operations of threads at the instant of a fork may be on either side of it; 20 forks, 3
    threads."""
    measured = measure(run, tmp_path, [target("processes", *FLAGS), "threads"])
    assert measured.run.status == 0
    assert set(measured.differences) <= {"site_thread"}
    assert all(abs(d.live_count) <= 60 for d in measured.differences.values())
    assert set(measured.losses) <= {"inherited_blocks"} and measured.losses.get("inherited_blocks", 0) <= 60


def test_spawned_children_leave_the_parent_alone(exact):
    measured = exact(["processes", "vfork"])
    names = {p["name"] for p in measured.report["processes"]}
    assert {"true", "sh"} <= names


def test_vfork_child_that_allocates(run, target, tmp_path):
    """The child's blocks are its parent's. Only what it allocates before its thread has an entry is lost."""
    measured = measure(run, tmp_path, [target("processes", *FLAGS), "vfork_malloc"])
    assert measured.run.status == 0
    lost = measured.losses.get("no_thread_block", 0)
    assert set(measured.differences) <= {"site_vfork_child"}
    for difference in measured.differences.values():
        assert difference.alloc_count == -lost
    assert lost <= 2


def test_every_image_of_a_process(run, target, tmp_path):
    measured = measure(run, tmp_path, [target("processes", *FLAGS), "exec", "5"])
    measured.assert_exact()
    assert len(measured.report["processes"]) == 6
    assert measured.sites["site_image"].live_bytes == sum(range(100, 106))


@pytest.mark.costly
@pytest.mark.parametrize("flag", [[], ["-Wl,--build-id=none"]], ids=["", "no-build-id"])
def test_plugins_at_one_address(exact, target, flag):
    """Each is opened and closed 4,000 times at the addresses of the others: stacks name the right
    one."""
    plugins = [
        target("plugin", *SHARED, *flag, f"-DSITE_NAME=site_plugin_{c}", f"-DRETURNED={i}")
        for i, c in enumerate("abc")
    ]
    measured = exact(["plugins", "12000", *plugins], flags=["-ldl"])
    assert measured.run.stdout == "at the same address\n"
    assert {f"site_plugin_{c}" for c in "abc"} <= set(measured.sites)


@pytest.mark.parametrize("name", [None, *ALLOCATORS])
def test_plugin_with_its_own_runtime(exact, target, name):
    """A C program opens a C++ library with RTLD_LOCAL: operator new appears late."""
    plugin = target("plugin_cxx", *SHARED)
    exact(["plugins", "50", plugin], flags=["-ldl"], library=name and allocator(name))


@pytest.mark.parametrize("end", [[], ["end"]], ids=["falls", "ends-there"])
@pytest.mark.parametrize("scale", [1, 100])
def test_peak(exact, scale, end):
    """What each site held when most was live: of 90 KB, of 9 MB, and at the very end."""
    measured = exact(["peaks", str(scale), *end])
    said = [line.split() for line in measured.run.stdout.splitlines()]
    peak = {}
    for stack in measured.report["stacks"]:
        if stack["peak"]["count"] and site_of(stack):
            peak[site_of(stack)] = stack["peak"]
    assert peak == {n: {"bytes": int(b), "count": int(c)} for n, b, c in said}


@pytest.mark.costly
def test_coroutines(exact):
    """Their stacks are complete, and end where makecontext() ends them."""
    measured = exact(["coroutines"])
    assert measured.run.stdout == "done\n"
    stacks = [s["frames"] for s in measured.report["stacks"] if site_of(s) == "site_top"]
    assert stacks
    for frames in stacks:
        *_, entry, outermost = [f["function"] for f in frames]
        assert entry == "entry"
        assert outermost in ("__start_context", f"libc.so.6+{start_context():#x}")


def start_context():
    """Link-time address of glibc's __start_context, which makecontext() puts behind the entry."""
    code = """
#include <dlfcn.h>
#include <stdio.h>
#include <ucontext.h>
static void entry(void) {}
int main(void)
{
    static char stack[65536];
    ucontext_t c;
    Dl_info info;
    getcontext(&c);
    c.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) };
    c.uc_link = 0;
    makecontext(&c, entry, 0);
    void *there = *(void **)c.uc_mcontext.gregs[REG_RSP];
    dladdr(there, &info);
    printf("%zu", (size_t)there - (size_t)info.dli_fbase);
}
"""
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/a"
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-xc", "-", "-o", program], input=code, text=True, check=True)
        return int(subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout)


@pytest.mark.parametrize(
    "flags",
    [["-O0"], ["-O3"], ["-O2", "-fomit-frame-pointer"], ["-O1", "-static-libgcc", "-no-pie"]],
    ids=" ".join,
)
def test_deep_and_odd_stacks(exact, flags):
    """Of 10,000 frames the innermost and the outermost are there, with a mark between them."""
    measured = exact(["deep"], flags=flags, losses={"stack_cut_middle"})
    stacks = [s for s in measured.report["stacks"] if site_of(s) == "site_deep"]
    deepest = max(stacks, key=lambda s: len(s["frames"]))
    names = [f["function"] for f in deepest["frames"]]
    assert "main" in names[-6:]
    assert names[0] == "site_deep" and names[1:100] == ["recurse"] * 99
    assert sum(n not in ("site_deep", "recurse") for n in names[:-6]) == 1, names


def test_program_with_gaps(exact):
    """Mapped between its segments, as with large pages: the loader then reports one segment at a
    time."""
    measured = exact(["deep", "100"], flags=["-Wl,-z,max-page-size=0x200000"], losses={"stack_cut_middle"})
    stacks = [s["frames"] for s in measured.report["stacks"] if site_of(s)]
    assert all(frames[-1]["function"] == "_start" for frames in stacks), stacks


@pytest.mark.costly(cases=8)
@pytest.mark.parametrize(
    "what",
    ["none", "as", "data", "fsize", "nofile", "fds", "range", "chroot", "stack", "mask", "hidden"]
    + ["seccomp", "seccomp_errno"],
)
def test_under_limits(exact, what):
    measured = exact(["limits", what])
    assert measured.run.stdout == "done\n"
    assert measured.truth["site_after"].alloc_count == 20001


def test_without_standard_descriptors(exact):
    measured = exact(["limits", "std"])
    assert measured.run.stdout == ""


def move_headers(source, to):
    """Moves a library's program headers to its end, into a segment of their own, as BOLT and
    patchelf do."""
    image = bytearray(pathlib.Path(source).read_bytes())
    form, load, note = "<IIQQQQQQ", 1, 4
    (offset,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    headers = [struct.unpack_from(form, image, offset + i * size) for i in range(count)]
    loads = [h for h in headers if h[0] == load]
    end = max(len(image), *(h[3] + h[6] for h in loads))
    at = (end + 4095) // 4096 * 4096
    headers.remove(next(h for h in headers if h[0] == note))
    last = max(i for i, h in enumerate(headers) if h[0] == load)
    headers.insert(last + 1, (load, 4, at, at, at, count * size, count * size, 4096))
    image += bytes(at - len(image)) + b"".join(struct.pack(form, *h) for h in headers)
    struct.pack_into("<Q", image, 32, at)
    to.write_bytes(image)
    return str(to)


def test_plugin_with_headers_at_its_end(exact, target, tmp_path):
    moved = move_headers(target("plugin", *SHARED, "-DSITE_NAME=site_plugin_moved"), tmp_path / "moved.so")
    measured = exact(["plugins", "50", moved], flags=["-ldl"])
    stacks = [s["frames"] for s in measured.report["stacks"] if site_of(s) == "site_plugin_moved"]
    assert stacks
    assert all(frames[-1]["function"] == "_start" for frames in stacks), stacks
