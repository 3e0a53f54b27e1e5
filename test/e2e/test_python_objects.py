"""Python's small objects: the heap python.obj has all of them, whichever the interpreter, and no byte is counted twice."""

import os
import pathlib
import re
import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace

VERSIONS = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
INTERPRETERS = [p for p in ["/usr/bin/python3", *sorted(map(str, VERSIONS.glob("*/bin/python3")))] if os.access(p, os.X_OK)]
# One test has all of them; the others have the system's, the oldest and the newest, and with --full all.
EACH = [python if python == INTERPRETERS[0] or any(f"/3.{minor}." in python for minor in (6, 13)) else pytest.param(python, marks=pytest.mark.slow)
        for python in INTERPRETERS]
LIBRARIES = sorted(map(str, [*pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libpython3.*.so.1.0"),
                             *VERSIONS.glob("3.*/lib/libpython3.*.so.1.0")]))

ARENA_BYTES_MIN = 256 << 10

# Lists and buffers that shrink below 512 bytes stay malloc's.
MAKE = """
import os, sys
class Point(object):
    __slots__ = ("x", "y")
    def __init__(self, x):
        self.x = x
        self.y = 0
def shrunk(i):
    some = bytearray(900)
    del some[100 + i % 300:]
    return some
def grown(i):
    some = []
    for k in range(i % 7):
        some.append(k)
    return some
def make(n):
    return [[{i: 0} for i in range(n)], ["string %d" % i for i in range(n)], [[i, 0] for i in range(n)],
            [i * 1.5 for i in range(n)], [Point(i) for i in range(n)], [grown(i) for i in range(n)],
            [shrunk(i) for i in range(n // 10)]]
"""

PROGRAM = MAKE + """
keep = make(int(sys.argv[1]))
with open(sys.argv[2], "w") as file:
    file.write(str(sum(sum(map(sys.getsizeof, some)) for some in keep)))
del file
if len(sys.argv) > 3:
    sys._debugmallocstats()
os._exit(0)
"""

SLEEPER = MAKE + """
import time
old = make(2000)
print("ready")
sys.stdout.flush()
def is_attached():
    with open("/proc/self/maps") as maps:
        return "heapscope" in maps.read()
while not is_attached():
    time.sleep(0.02)
time.sleep(0.7)
del old
keep = make(int(sys.argv[1]))
time.sleep(60)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def live(profile):
    return {h["name"]: (h["live"]["bytes"], h["live"]["count"]) for h in profile["heaps"]}


def lost(profile):
    """What was lost of memory: that the functions of an old Python are not in stacks is no such loss."""
    return [loss for loss in profile["losses"] if loss["name"] != "python_unknown"]


def is_near(found, wanted, share):
    return abs(found - wanted) <= share * wanted


def recorded(run, program, python, count, interval=1, **env):
    out = program.parent / "sizes"
    done = run([python, program, count, out], "-i", interval, env={"PYTHONHASHSEED": "0", **env})
    found = done.report()
    assert not lost(found), found["losses"]
    return live(found), int(out.read_text())


def blocks_in_use(program, python, count):
    """What the interpreter itself says, without heapscope: bytes (in steps of 16) and blocks."""
    done = subprocess.run([python, program, str(count), program.parent / "unused", "stats"], env=clean_env(PYTHONHASHSEED="0"),
                          capture_output=True, text=True, check=True, timeout=100)
    rows = re.findall(r"^ +\d+ +(\d+) +[\d,]+ +([\d,]+) +[\d,]+ *$", done.stderr, re.MULTILINE)
    counts = [(int(size), int(number.replace(",", ""))) for size, number in rows]
    return sum(size * number for size, number in counts), sum(number for _, number in counts)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("python", INTERPRETERS)
def test_all_objects(run, program, python):
    """As many as the interpreter counts, and not fewer bytes than it says that they have."""
    count = 160000 if python == INTERPRETERS[0] else 10000
    heaps, size_bytes = recorded(run, program, python, count)
    stats_bytes, stats_count = blocks_in_use(program, python, count)
    found_bytes, found_count = heaps["python.obj"]
    assert is_near(found_count, stats_count, 0.002), (found_count, stats_count)
    assert stats_bytes - 16 * stats_count < found_bytes <= stats_bytes * 1.002
    assert found_bytes + heaps["libc.malloc"][0] >= 0.99 * size_bytes


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("python", EACH)
def test_nothing_twice(run, program, python):
    """With malloc for objects, the same blocks are all malloc's. The interpreter maps its frames itself since Python 3.11, and so
    they are in the heap mmap; the arenas that contain the objects are not."""
    heaps, _ = recorded(run, program, python, 5000)
    with_malloc, _ = recorded(run, program, python, 5000, PYTHONMALLOC="malloc")
    assert "python.obj" not in with_malloc
    assert heaps.get("mmap", (0, 0)) == with_malloc.get("mmap", (0, 0))
    assert heaps.get("mmap", (0, 0))[0] < ARENA_BYTES_MIN
    together = heaps["libc.malloc"][1] + heaps["python.obj"][1]
    assert is_near(with_malloc["libc.malloc"][1], together, 0.002), (with_malloc, heaps)


@pytest.mark.parametrize("python", EACH)
def test_arenas_are_not_mapped_memory(run, program, python):
    """Not even for the moment until an object in them is sampled. Without the objects they are."""
    done = run([python, program, 3000, program.parent / "x"], "-i", "64M")
    allocated = {h["name"]: h["alloc"]["bytes"] for h in done.report()["heaps"]}
    assert allocated.get("mmap", 0) < ARENA_BYTES_MIN, allocated
    done = run([python, program, 3000, program.parent / "x"], "-i", "64M", "--exclude-heaps", "python.obj")
    allocated = {h["name"]: h["alloc"]["bytes"] for h in done.report()["heaps"]}
    assert allocated["mmap"] >= 4 * ARENA_BYTES_MIN, allocated


@pytest.mark.costly
@pytest.mark.parametrize("python", EACH)
@pytest.mark.parametrize("allocator", ["pymalloc_debug", "pymalloc"])
def test_other_modes(run, program, python, allocator):
    """The interpreter sets its allocators itself, after the client has."""
    heaps, _ = recorded(run, program, python, 5000)
    found, _ = recorded(run, program, python, 5000, PYTHONMALLOC=allocator)
    assert is_near(found["python.obj"][1], heaps["python.obj"][1], 0.03), (found, heaps)


@pytest.mark.costly
def test_sampled(run, program):
    exact, _ = recorded(run, program, INTERPRETERS[0], 50000)
    found, _ = recorded(run, program, INTERPRETERS[0], 50000, interval=4096)
    for name in exact:
        assert is_near(found[name][0], exact[name][0], 0.1), (found, exact)


def intervals(run, program, *options):
    done = run([INTERPRETERS[0], program, 1000, program.parent / "x"], *options)
    return {heap["name"]: heap["interval_bytes"] for heap in done.report()["heaps"] if heap["name"] != "mmap"}


@pytest.mark.costly
def test_interval(run, program):
    """Wider than malloc's, unless the user says what it is."""
    assert intervals(run, program) == {"libc.malloc": 4096, "python.obj": 32768}
    assert intervals(run, program, "-i", 4096) == {"libc.malloc": 4096, "python.obj": 4096}
    assert intervals(run, program, "--all-heaps", "--heaps", "python.obj=512") == {"libc.malloc": 4096, "python.obj": 512}
    assert intervals(run, program, "--heaps", "python.obj") == {"python.obj": 32768}


def test_words(heapscope, run, program):
    """Which heaps are added up, at which intervals; nothing is said of a heap that the user left out."""
    done = run([INTERPRETERS[0], program, 20000, program.parent / "x"])
    text = " ".join(heapscope("report", done.file).stdout.split())
    assert "at a mean interval of 4.00 KiB (python.obj: 32.0 KiB; mmap: exact)" in text
    assert "python.obj (" in text and "counted in both" not in text
    for heap in ("python.obj", "mmap"):
        assert "registered" not in heapscope("run", "-o", program.parent / "y", "--exclude-heaps", heap, "--", "true").stderr
    assert "no process registered a heap named 'python.obj'" in heapscope(
        "run", "-o", program.parent / "y", "--heaps", "python.obj,libc.malloc", "--", "true").stderr


def test_left_out(run, program):
    done = run([INTERPRETERS[0], program, 1000, program.parent / "x"], "-i", 1, "--exclude-heaps", "python.obj")
    assert "python.obj" not in live(done.report())


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("times", [1, 2])
def test_embedded(run, target, library, times):
    """A library that is loaded late; an interpreter that begins anew sets its allocators again."""
    home = pathlib.Path(library).parent.parent if "versions" in library else pathlib.Path("/usr")
    code = MAKE + "keep = make(5000)"
    done = run([target("python_host", "-ldl"), library, times, code], "-i", 1, env={"PYTHONHOME": str(home)})
    assert live(done.report())["python.obj"][1] > 30000


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("python", EACH)
def test_attached(heapscope, report, tmp_path, python):
    """Objects from before may be freed; afterwards the process can be attached to again."""
    need_ptrace()
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    with subprocess.Popen([python, tmp_path / "sleeper.py", "5000"], stdout=subprocess.PIPE, env=clean_env()) as sleeper:
        try:
            assert sleeper.stdout.readline() == b"ready\n"
            done = heapscope("attach", "-q", sleeper.pid, "-i", 1, "-d", "2500ms", "-o", tmp_path / "x.pftrace")
            assert done.returncode == 0, done.stderr
            found = report(tmp_path / "x.pftrace")
            assert live(found)["python.obj"][1] > 30000, live(found)
            done = heapscope("attach", "-q", sleeper.pid, "-i", 1, "-d", "200ms", "-o", tmp_path / "y.pftrace")
            assert done.returncode == 0, done.stderr
            assert live(report(tmp_path / "y.pftrace")).get("python.obj", (0, 0))[1] < 1000
            assert sleeper.poll() is None
        finally:
            sleeper.kill()
