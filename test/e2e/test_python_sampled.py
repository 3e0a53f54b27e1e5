"""Sampled Python objects lie in malloc's memory, so that the interpreter's free can stay as it is: what of that a program could notice, and
what a profile must not show."""

import os
import signal
import subprocess

import pytest
from conftest import clean_env
from preload import preloadable
from resident import need_ptrace
from test_python_objects import EACH, LIBRARIES, MAKE, is_near, live, lost
from test_python_programs import SOME
from waiting import wait_until

# The smallest interval at which samples are moved.
MOVED = 16384

# Every kind of object grows, shrinks and goes at random, and is compared with what it was.
STRESS = """
import gc, os, random, sys
random.seed(5)
def one(i):
    kind, n = random.randrange(10), random.randrange(1, 600)
    if kind == 0:
        return bytearray(b"%d" % i * n)
    if kind == 1:
        return b"x%d" % i * random.randrange(1, 40)
    if kind == 2:
        return list(range(random.randrange(80)))
    if kind == 3:
        return {j: str(j) for j in range(random.randrange(20))}
    if kind == 4:
        return (i, str(i), float(i))
    if kind == 5:
        return "s%d" % i * random.randrange(1, 30)
    if kind == 6:
        some = []
        for j in range(random.randrange(70)):
            some.append(j)
        return some
    if kind == 7:
        some = bytearray(n)
        for j in range(random.randrange(5)):
            m = random.randrange(1, 900)
            if m > len(some):
                some.extend(bytearray([j]) * (m - len(some)))
            else:
                del some[m:]
        return some
    if kind == 8:
        return set(range(random.randrange(30)))
    return i * 10 ** random.randrange(1, 60)
kept = {}
for i in range(int(sys.argv[1])):
    j = random.randrange(5000)
    if j not in kept:
        some = one(i)
        kept[j] = some, hash(repr(some))
        continue
    some, before = kept.pop(j)
    assert hash(repr(some)) == before, (j, some)
    if isinstance(some, (list, bytearray)) and random.random() < 0.5:
        some.extend(some[:random.randrange(1, 30)])
        if random.random() < 0.5:
            del some[len(some) // 3:]
        kept[j] = some, hash(repr(some))
print(len(kept))
sys.stdout.flush()
kept.clear()
del some
gc.collect()
os._exit(0)
"""

MODES = {"default": {}, "debug": {"PYTHONMALLOC": "debug"}, "pymalloc_debug": {"PYTHONMALLOC": "pymalloc_debug"},
         "tracemalloc": {"PYTHONTRACEMALLOC": "1"}, "both": {"PYTHONMALLOC": "debug", "PYTHONTRACEMALLOC": "1"}}


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("python", SOME)
def test_content(run, tmp_path, python, mode):
    """The program finds what it stored, and what it has freed is gone from the profile."""
    (tmp_path / "program.py").write_text(STRESS)
    plain = subprocess.run([python, tmp_path / "program.py", "40000"], env=clean_env(), capture_output=True, text=True, check=True)
    done = run([python, tmp_path / "program.py", 40000], "-i", MOVED, env=MODES[mode])
    assert done.status == 0 and done.stdout == plain.stdout, done
    found = done.report()
    assert not lost(found)
    if "/3.6." not in python or MODES[mode].get("PYTHONMALLOC") != "debug":  # that is malloc there
        heap = next(heap for heap in found["heaps"] if heap["name"] == "python.obj")
        assert heap["alloc"]["bytes"] > 60 << 20 and heap["live"]["bytes"] < 10 << 20, heap


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc.so.4"])
def test_other_mallocs(run, tmp_path, library):
    (tmp_path / "program.py").write_text(STRESS.replace("print(len(kept))", OWNERS + "print(owners())"))
    done = run(["/usr/bin/python3", tmp_path / "program.py", 40000], "-i", MOVED, env={"LD_PRELOAD": library})
    if "cannot be preloaded" in done.stderr:
        pytest.skip(f"{library} is not installed")
    assert done.status == 0 and done.stdout == ALLOCATIONS, done
    assert not lost(done.report()) and live(done.report())["python.obj"][0] < 10 << 20


COUNT = """
import gc, os, sys
gc.disable()
def make():
    some = [[i, str(i), {i: 0}] for i in range(30000)]
    for each in some:
        each.extend(range(each[0] % 40))
    return some
def count():
    before = sys.getallocatedblocks()
    some = make()
    during = sys.getallocatedblocks()
    del some
    return during - before, sys.getallocatedblocks() - before
count()
print(count(), count())
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("python", SOME)
def test_the_interpreters_count_of_blocks(run, tmp_path, python):
    (tmp_path / "program.py").write_text(COUNT)
    plain = subprocess.run([python, tmp_path / "program.py"], env=clean_env(PYTHONHASHSEED="0"), capture_output=True, text=True,
                           check=True)
    done = run([python, tmp_path / "program.py"], "-i", MOVED, env={"PYTHONHASHSEED": "0"})
    assert done.stdout == plain.stdout
    assert live(done.report())["python.obj"][0] < 8 << 20


KEEP = MAKE + "keep = make(int(sys.argv[1]))\nos._exit(0)"


@pytest.mark.costly
@pytest.mark.parametrize("python", EACH)
def test_nothing_twice(run, tmp_path, python):
    """malloc's heap, which is exact here, has none of the samples that malloc serves; their sizes are the objects'."""
    (tmp_path / "program.py").write_text(KEEP)
    env = {"PYTHONHASHSEED": "0"}
    exact = live(run([python, tmp_path / "program.py", 20000], "-i", 1, env=env).report())
    found = live(run([python, tmp_path / "program.py", 20000], "-i", 1, "--all-heaps", "--heaps", "python.obj=16K", env=env).report())
    assert abs(found["libc.malloc"][1] - exact["libc.malloc"][1]) <= 20, (found, exact)
    assert is_near(found["python.obj"][0], exact["python.obj"][0], 0.2)
    assert is_near(found["python.obj"][1], exact["python.obj"][1], 0.3)


# Which code serves each function of the domain of objects.
OWNERS = """
import ctypes
class Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("ctx", "malloc", "calloc", "realloc", "free")]
def is_ours(va):
    with open("/proc/self/maps") as maps:
        for line in maps:
            start, end = (int(text, 16) for text in line.split()[0].split("-"))
            if start <= va < end:
                return "libheapscope" in line
def owners(domain=2):
    found = Allocator()
    ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(found))
    return " ".join(str(is_ours(getattr(found, name))) for name in ("malloc", "calloc", "realloc", "free"))
"""
ALL, ALLOCATIONS = "True True True True\n", "True True True False\n"


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("python", SOME)
@pytest.mark.parametrize("options,expected", [((), ALLOCATIONS), (("-i", MOVED), ALLOCATIONS), (("-i", 4096), ALL), (("-i", 1), ALL),
                                              (("-i", 1, "--all-heaps", "--heaps", "python.obj=64K"), ALLOCATIONS)])
def test_which_functions_are_redirected(run, python, options, expected):
    assert run([python, "-c", OWNERS + "print(owners())"], *options).stdout == expected


RAW = OWNERS + STRESS.replace("kept = {}", "ctypes.PyDLL(sys.argv[2]).put_in_front()\nkept = {}").replace(
    "print(len(kept))", "print(owners())")


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("python", SOME)
def test_raw_allocator_of_the_programs_own(run, target, tmp_path, python):
    """It writes behind each block as if that had the size it was asked for: samples are not moved there."""
    (tmp_path / "program.py").write_text(RAW)
    library = target("python_raw_allocator", "-shared", "-fPIC")
    done = run([python, tmp_path / "program.py", 40000, library], "-i", MOVED)
    assert done.status == 0 and done.stdout == ALL, done
    found = done.report()
    assert not lost(found) and live(found)["python.obj"][0] < 8 << 20


NO_MEMORY = MAKE + """
import ctypes
library = ctypes.CDLL(sys.argv[1])
fail = library.fail_small_blocks
fail(1)
strings = ["a string %d" % i for i in range(100000)]
fail(0)
os._exit(0)
"""


def test_no_memory_for_samples(run, target, tmp_path):
    """The objects stay where pymalloc has put them. They are not recorded, which the report says."""
    (tmp_path / "program.py").write_text(NO_MEMORY)
    library = target("small_malloc_fails", "-shared", "-fPIC")
    done = run(["/usr/bin/python3", tmp_path / "program.py", library], "-i", MOVED, env={"LD_PRELOAD": preloadable(library)})
    assert done.status == 0, done
    found = done.report()
    losses = {loss["name"]: loss for loss in found["losses"]}
    assert losses["unmoved_objects"]["bytes"] > 6 << 20, losses
    assert live(found)["python.obj"][0] < 4 << 20  # the strings are 6 MiB


# Buffers, with small objects that stay between them; then buffers that need larger gaps.
COMB = """
import os
kept, buffers = None, [None] * 1500
for i in range(1500):
    buffers[i] = bytearray(100000)
    for k in range(400):
        kept = (kept, i + 1000000, k)
buffers.clear()
buffers = [bytearray(120000) for i in range(1250)]
with open("/proc/self/statm") as statm:
    print(statm.read().split()[1])
"""


@pytest.mark.costly
def test_free_memory_is_not_cut_up(run):
    """Samples that stay for long lie side by side, and not between the large blocks of the program."""
    plain = int(subprocess.run(["/usr/bin/python3", "-c", COMB], env=clean_env(), capture_output=True, text=True, check=True).stdout)
    found = int(run(["/usr/bin/python3", "-c", COMB], "-i", MOVED).stdout)
    assert found < 1.1 * plain, (found, plain)


FORK = MAKE + """
old = make(4000)
child = os.fork()
if child == 0:
    new = [bytearray(100) for i in range(1000)]
    more = [str(i) + "x" for i in range(20000)]
    if len(sys.argv) > 1:
        del old
    os._exit(0)
del old
more = make(3000)
assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("python", SOME)
@pytest.mark.parametrize("frees", [False, True])
def test_forked_child(run, report, tmp_path, python, frees):
    """It has its parent's objects, whatever the parent frees meanwhile, until it frees them itself."""
    (tmp_path / "program.py").write_text(FORK)
    done = run([python, tmp_path / "program.py", *["x"] * frees], "-i", MOVED)
    assert done.status == 0 and not lost(done.report())
    parent, child = sorted(done.report()["processes"], key=lambda process: process["pid"])
    of_parent, of_child = (live(report(done.file, "--pid", process["pid"]))["python.obj"][0] for process in (parent, child))
    # 4000 times what make() makes is 3 MiB, and the strings are 1 MiB.
    assert of_child - of_parent < 1 << 20 if frees else of_child - of_parent > 1 << 20, (of_parent, of_child)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("close", [(), ("close",)])
def test_interpreter_that_begins_anew(run, target, library, close):
    """Objects from before its end are freed after it."""
    home = os.path.dirname(os.path.dirname(library)) if "versions" in library else "/usr"
    code = MAKE + "keep = make(5000)\nimport gc\ngc.collect()"
    done = run([target("python_host", "-ldl"), library, 3, code, *close], "-i", MOVED, env={"PYTHONHOME": home})
    assert done.status == 0, done
    assert 2 << 20 < live(done.report())["python.obj"][0] < 12 << 20


STEPS = MAKE + """
keep = None
print("ready")
sys.stdout.flush()
for line in sys.stdin:
    keep = None
    keep = make(int(line))
    print("made")
    sys.stdout.flush()
"""


def step(process, count):
    process.stdin.write(f"{count}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "made\n"


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("python", EACH)
@pytest.mark.parametrize("intervals", [(MOVED, MOVED), (MOVED, 1), (1, MOVED)])
def test_attached_twice(dist, report, tmp_path, python, intervals):
    """Objects of one session are freed between the two, and in the second."""
    need_ptrace()
    (tmp_path / "program.py").write_text(STEPS)
    with subprocess.Popen([python, "-u", tmp_path / "program.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=clean_env()) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            for number, interval in enumerate(intervals):
                file = tmp_path / f"{number}.pftrace"
                log = tmp_path / f"{number}.log"
                with open(log, "w") as err, subprocess.Popen([dist / "bin/heapscope", "attach", str(process.pid), "-i", str(interval), "-o",
                                                              file], env=clean_env(), stderr=err) as attach:
                    wait_until(lambda log=log: "attached" in log.read_text() or "recording" in log.read_text(), "it does not attach")
                    step(process, 4000)
                    step(process, 4000)
                    attach.send_signal(signal.SIGINT)
                    attach.wait(60)
                bytes_found = live(report(file))["python.obj"][0]
                assert 1 << 20 < bytes_found < 6 << 20, (interval, bytes_found)
                step(process, 100)
                step(process, 4000)
        finally:
            process.kill()
