"""Heaps that are registered at awkward moments, which must not cost a report: test/target/api_registers.c."""

import json
import shutil
import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace


@pytest.fixture(scope="module")
def program(target, dist):
    return target("api_registers", "-pthread", "-I", str(dist / "include"), "-L", str(dist / "lib"), "-lheapscope",
                  f"-Wl,-rpath,{dist / 'lib'}")


@pytest.mark.parametrize("attempt", range(3))
def test_by_four_threads_at_once(run, report, program, attempt):
    done = run([program, "both"], "-i", 1)
    assert done.stdout == "lost 0\n"
    found = {heap["name"]: heap["live"] for heap in report(done.file)["heaps"] if heap["name"] != "libc.malloc"}
    assert len(found) == 200 and all(live == {"bytes": 28, "count": 4} for live in found.values())


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("attempt", range(3))
def test_while_another_thread_forks(run, program, attempt):
    """No child waits for the thread that was registering a heap: it has no such thread."""
    assert run([program, "forks"], "-i", 1).stdout == "lost 0\n"


def test_pools_while_another_thread_forks(program):
    done = subprocess.run([program, "pools"], env=clean_env(), stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "lost 0\n"


@pytest.mark.parametrize("first", [[], ["poll"]])
def test_as_the_first_call_of_a_child(run, heapscope, program, first):
    """The child begins to record with its first report, and leaves its parent's heaps as they are."""
    done = run([program, "child", *first], "-i", 1)
    assert done.stdout == "lost 0\n"
    rows = json.loads(heapscope("query", "--format", "json", done.file, "SELECT upid, heap_name AS heap, SUM(size) AS bytes "
                                "FROM heap_profile_allocation WHERE heap_name <> 'libc.malloc' GROUP BY 1, 2").stdout)
    parent, child = ({row["heap"]: row["bytes"] for row in rows if row["upid"] == upid} for upid in sorted({r["upid"] for r in rows}))
    assert parent == {"both": 100, "of the parent": 1000}
    assert child == {"both": 105, "of the child": 20}


def test_parents_that_were_created_later(program, attach, report):
    """An attached client finds all heaps at once: it gives a parent its place before the heap that lies in it."""
    need_ptrace()
    process = subprocess.Popen([program, "parent"], env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    session = attach(process.pid)
    assert session.is_recording, session.said
    assert process.communicate("go\n")[0] == "lost 0\n"
    assert session.wait() == 0
    parents = {heap["name"]: heap.get("parent") for heap in report(session.file)["heaps"]}
    assert parents["inner"] == "outer" and parents["outer"] == "libc.malloc"


def test_more_heaps_than_there_may_be(run, report, dist, program, tmp_path):
    """Two copies of the library have 400 heaps; 255 of them are recorded, and the profile says that others are missing."""
    copy = shutil.copy(dist / "lib" / "libheapscope.so", tmp_path / "a copy.so")
    done = run([program, "copy", copy], "-i", 1)
    assert done.stdout == "lost 145\n"
    found = report(done.file)
    assert sum(heap["live"]["count"] for heap in found["heaps"] if heap["name"] != "libc.malloc") == 255
    assert [(loss["name"], loss["count"]) for loss in found["losses"]] == [("table_full", 1)] and not found["is_exact"]


def test_callbacks_that_report_need_little_stack(program, attach):
    """The report of a callback does not call the next callback."""
    need_ptrace()
    process = subprocess.Popen([program, "callbacks"], env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    session = attach(process.pid)
    assert session.is_recording, session.said
    assert process.communicate("go\n")[0] == "called 200, deepest 1\nlost 0\n"
    assert process.returncode == 0 and session.wait() == 0


def test_in_a_library_that_is_opened_later(target, flags, attach, heaps):
    """The attached program is not linked with libheapscope.so: the library that it opens brings it."""
    need_ptrace()
    library = target("api_plugin_heap", "-shared", "-fPIC", *flags[0], *flags[1])
    process = subprocess.Popen([target("api_opens"), library], env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    session = attach(process.pid)
    assert session.is_recording, session.said
    process.stdin.write("open\n")
    process.stdin.flush()
    assert process.stdout.readline() == "recorded 10\n"
    process.communicate("end\n")
    assert session.wait() == 0
    assert heaps(session.file)["plugin.late"] == (100, 10, 100, 10)
