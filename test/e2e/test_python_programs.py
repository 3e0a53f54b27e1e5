"""Python programs of all kinds run as without heapscope, and their small objects are all found: forks, threads, several interpreters,
allocators of the program's own, interpreters that come and go."""

import os
import signal
import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace
from test_python_objects import INTERPRETERS, LIBRARIES, MAKE, is_near, live, lost
from waiting import wait_until

PYTHON = INTERPRETERS[0]
# The system's, the oldest, and those whose interpreters have arenas of their own.
SOME = [python for python in INTERPRETERS if python == PYTHON or any(f"/3.{minor}." in python for minor in (6, 12, 13))]

FORK = MAKE + """
import gc
gc.disable()
old = make(2000)
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.close(read)
    new = [[{i: 1} for i in range(10000)]]
    os.write(write, b"x")
    os._exit(0)
os.close(write)
more = [[{i: 2} for i in range(20000)]]
assert os.read(read, 1) == b"x" and os.waitpid(child, 0)[1] == 0
os._exit(0)
"""


@pytest.mark.costly
def test_fork(run, report, tmp_path):
    """A forked child has the parent's objects and its own."""
    (tmp_path / "program.py").write_text(FORK)
    done = run([PYTHON, tmp_path / "program.py"], "-i", 1)
    assert done.status == 0
    pids = sorted(process["pid"] for process in done.report()["processes"])
    assert len(pids) == 2
    counts = [live(report(done.file, "--pid", pid))["python.obj"][1] for pid in pids]
    # Two objects for each: the dict and its table; small integers are there already.
    assert is_near(counts[0] - counts[1], 2 * 10000 + 10000, 0.1), counts
    assert not lost(done.report())


MULTIPROCESSING = """
import multiprocessing, sys
def work(n):
    return sum(len(some) for some in [[{i: 0} for i in range(n)] for _ in range(3)])
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        assert pool.map(work, [3000, 4000, 5000]) == [9000, 12000, 15000]
    print("done")
"""


@pytest.mark.costly
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(run, tmp_path, method):
    (tmp_path / "program.py").write_text(MULTIPROCESSING)
    done = run([PYTHON, tmp_path / "program.py", method], "-i", 64)
    assert done.status == 0 and done.stdout == "done\n", done
    assert len(done.report()["processes"]) >= 3
    assert "python.obj" in live(done.report())


THREADS = MAKE + """
import threading
kept = [None] * 4
def work(i):
    for _ in range(3):
        kept[i] = make(1500)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
with open(sys.argv[1], "w") as file:
    file.write(str(sum(sum(map(sys.getsizeof, some)) for lists in kept for some in lists)))
os._exit(0)
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("python", SOME)
def test_threads(run, tmp_path, python):
    """Each frees what it made before; what another has freed is gone."""
    (tmp_path / "program.py").write_text(THREADS)
    done = run([python, tmp_path / "program.py", tmp_path / "size"], "-i", 1)
    assert done.status == 0
    heaps, size_bytes = live(done.report()), int((tmp_path / "size").read_text())
    found_bytes = heaps["python.obj"][0] + heaps["libc.malloc"][0]
    assert 0.99 * size_bytes <= found_bytes, (heaps, size_bytes)
    assert heaps["python.obj"][1] < 4 * 1500 * 24  # three times as many were made
    assert not lost(done.report())


SUBINTERPRETERS = """
try:
    import _interpreters as it
except ImportError:
    try:
        import _xxsubinterpreters as it
    except ImportError:
        raise SystemExit(77)
code = "keep = [{i: 0} for i in range(5000)]\\nimport os\\n"
ids = [it.create() for _ in range(2)]
for one in ids:
    it.run_string(one, code)
it.destroy(ids[0])
it.run_string(ids[1], "more = [[i] for i in range(3000)]")
it.run_string(ids[1], "os._exit(0)")
"""


@pytest.mark.costly
@pytest.mark.parametrize("python", SOME)
def test_subinterpreters(run, tmp_path, python):
    (tmp_path / "program.py").write_text(SUBINTERPRETERS)
    done = run([python, tmp_path / "program.py"], "-i", 1)
    if done.status == 77:
        pytest.skip(f"{python} has no subinterpreters")
    assert done.status == 0, done
    assert 2 * 5000 + 2 * 3000 <= live(done.report())["python.obj"][1]


OWN_ALLOCATOR = MAKE + """
import ctypes
own = ctypes.PyDLL(sys.argv[1])
own.take_away.restype = ctypes.c_long
before = make(1000)
own.put_in_front()
during = make(1000)
del before
count = own.take_away()
assert count > 10000, count
after = make(1000)
os._exit(0)
"""


@pytest.mark.costly
@pytest.mark.parametrize("python", SOME)
def test_allocator_of_the_programs_own(run, target, tmp_path, python):
    """It stays in front, and goes when the program says so."""
    (tmp_path / "program.py").write_text(OWN_ALLOCATOR)
    library = target("python_allocator", "-shared", "-fPIC")
    done = run([python, tmp_path / "program.py", library], "-i", 1)
    assert done.status == 0, done
    expected = run([python, "-c", MAKE + "a = make(1000)\nb = make(1000)\nos._exit(0)"], "-i", 1)
    wanted = live(expected.report())["python.obj"][1]
    # ctypes has objects of its own.
    assert wanted <= live(done.report())["python.obj"][1] < wanted * 1.5 + 20000


TRACEMALLOC = MAKE + """
import tracemalloc
a = make(1000)
tracemalloc.start()
b = make(1000)
assert tracemalloc.get_traced_memory()[0] > 300000
tracemalloc.stop()
del a
c = make(1000)
os._exit(0)
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("python", SOME)
@pytest.mark.parametrize("allocator", ["pymalloc", "pymalloc_debug"])
def test_tracemalloc(run, tmp_path, python, allocator):
    (tmp_path / "program.py").write_text(TRACEMALLOC)
    done = run([python, tmp_path / "program.py"], "-i", 1, env={"PYTHONMALLOC": allocator})
    assert done.status == 0, done
    expected = run([python, "-c", MAKE + "import tracemalloc\na = make(1000)\nb = make(1000)\nos._exit(0)"], "-i", 1)
    assert is_near(live(done.report())["python.obj"][1], live(expected.report())["python.obj"][1], 0.05)


@pytest.mark.costly
@pytest.mark.parametrize("library", LIBRARIES)
def test_library_that_is_unloaded(run, target, library):
    """The interpreter's library goes, and comes again. (Whether the loader lets it go is its affair.)"""
    home = os.path.dirname(os.path.dirname(library)) if "versions" in library else "/usr"
    done = run([target("python_host", "-ldl"), library, 2, MAKE + "keep = make(2000)", "close"], "-i", 1, env={"PYTHONHOME": home})
    assert done.status == 0, done
    assert live(done.report())["python.obj"][1] > 12000


ATTACHED = MAKE + """
import time
def is_attached():
    with open("/proc/self/maps") as maps:
        return "heapscope" in maps.read()
print("ready")
sys.stdout.flush()
while not is_attached():
    time.sleep(0.02)
time.sleep(0.5)
keep = make(int(sys.argv[1]))
with open(sys.argv[2], "w") as file:
    file.write(str(sum(sum(map(sys.getsizeof, some)) for some in keep)))
os.rename(sys.argv[2], sys.argv[2] + ".done")
time.sleep(60)
"""


@pytest.mark.costly
def test_attached_to_a_million_objects(dist, report, tmp_path):
    """At -i 1, at least 99 % of their bytes."""
    need_ptrace()
    (tmp_path / "program.py").write_text(ATTACHED)
    size, file = tmp_path / "size", tmp_path / "x.pftrace"
    with subprocess.Popen([PYTHON, tmp_path / "program.py", "140000", size], stdout=subprocess.PIPE, env=clean_env()) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            done = tmp_path / "size.done"
            with subprocess.Popen([dist / "bin/heapscope", "attach", "-q", str(process.pid), "-i", "1", "-o", file],
                                  env=clean_env()) as attach:
                wait_until(done.exists, "no objects were made")
                attach.send_signal(signal.SIGINT)
                attach.wait(60)
            heaps = live(report(file))
            assert heaps["python.obj"][1] > 900000
            assert heaps["python.obj"][0] + heaps["libc.malloc"][0] >= 0.99 * int(done.read_text()), heaps
            assert process.poll() is None
        finally:
            process.kill()
