"""Heaps that a program registers in libheapscope.so, recorded by heapscope: exact for each heap at interval 1."""

import json
import shutil
import subprocess

import pytest
from conftest import TARGETS, clean_env
from preload import preloadable
from resident import need_ptrace
from test_api_library import SEED


def test_allocators_of_many_kinds(run, heaps, target, flags):
    done = run([target("api_heaps", *flags[0], *flags[1])], "-i", 1)
    assert done.status == 0, done.stderr
    *lines, enabled = done.stdout.splitlines()
    assert enabled == "enabled 3"
    truth = {name: tuple(map(int, figures)) for name, *figures in map(str.split, lines)}
    found = heaps(done.file)
    assert len(truth) == 5 and {name: found[name] for name in truth} == truth
    assert found["libc.malloc"][2] >= 1 << 20  # with the slab, whose first object has its address
    assert done.report()["losses"] == []


def test_innermost_frame_is_the_program_s(run, target, flags, heapscope):
    done = run([target("api_heaps", *flags[0], *flags[1])], "-i", 1)
    folded = heapscope("export", "-f", "folded", "--view", "alloc_space", "--heap", "ids,equal,slab,outer", done.file).stdout
    assert "libheapscope" not in "".join(line for line in folded.splitlines() if "report_alloc" in line)
    assert ";use_ids;report_alloc" in folded


def test_example_of_heapprofd(run, heaps, dist, flags, tmp_path):
    source = tmp_path / "example.cc"
    source.write_text(SEED)
    subprocess.run(["g++", "-O1", *flags[0], source, "-o", tmp_path / "example", *flags[1]], check=True)
    done = run([tmp_path / "example"], "-i", 1)
    assert done.status == 0, done.stderr
    found = heaps(done.file)
    assert found["invalid.example"] == (0, 0, 1234, 1)
    assert found["libc.malloc"][2] >= 1234  # it takes its memory from malloc


@pytest.mark.costly
def test_worked_example(run, heaps, dist, tmp_path):
    folder = tmp_path / "heaps"
    shutil.copytree(dist / "share" / "examples" / "heapscope", folder)
    subprocess.run(["make", "-s", f"PKG_CONFIG_PATH={dist / 'lib' / 'pkgconfig'}"], cwd=folder, check=True, env=clean_env())
    arena = run([folder / "arena"], "-i", 1)
    assert arena.status == 0, arena.stderr
    names = [f"name of the object with the number {i}" for i in range(1000)]
    assert heaps(arena.file)["arena"] == (0, 0, sum(len(name) + 1 for name in names), 1000)
    done = run([folder / "objects"], "-i", 1)
    objects = heaps(done.file)
    assert objects["particles"] == (0, 0, 48000, 1000)
    assert objects["index"][:2] == objects["request"][:2] == (0, 0)
    # What the library and its header allocate counts for the caller.
    rows = done.report("--view", "alloc_space", "--top", "all")["functions_by_self"]
    names = {row["function"] for row in rows if row["self"]["bytes"]}
    assert "main" in names and not any(name.startswith("heapscope") for name in names)


def test_weak_form(run, heaps, dist, flags, tmp_path):
    """A program that is not linked with the library, once with it and once without."""
    subprocess.run(["gcc", "-DHEAPSCOPE_WEAK", *flags[0], TARGETS / "api_program.c", "-o", tmp_path / "weak"], check=True)
    library = preloadable(dist / "lib" / "libheapscope.so")
    done = run([tmp_path / "weak"], "-i", 1, env={"LD_PRELOAD": library})
    assert "recorded: 1" in done.stdout, done.stderr
    assert heaps(done.file)["arena"] == (0, 0, 100, 1)
    done = run([tmp_path / "weak"], "-i", 1)
    assert "recorded: 0" in done.stdout and set(heaps(done.file)) == {"libc.malloc"}


# --- running programs ---

class Resident:
    """test/target/api_resident.c, while it runs."""

    def __init__(self, program, **env):
        self.process = subprocess.Popen([program], env=clean_env(**env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def tell(self, *commands):
        """What the program says, without its answers "ok"."""
        said = []
        for command in commands:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            while (line := self.process.stdout.readline()) != "ok\n":
                assert line, "the program has ended"
                said.append(line.rstrip("\n"))
        return said


@pytest.fixture
def resident(target, flags):
    plugin = target("api_plugin_heap", "-shared", "-fPIC", *flags[0], *flags[1])
    program = Resident(target("api_resident", *flags[0], *flags[1]), PLUGIN=plugin)
    yield program
    program.process.kill()
    program.process.wait()


def test_attached_twice(resident, attach, heaps):
    """Blocks from before do not count, and each session has its callbacks."""
    need_ptrace()
    for _ in range(2):
        resident.tell("alloc 20")
        session = attach(resident.pid)
        assert session.is_recording, session.said
        assert resident.tell("alloc 10") == ["enabled 1"]
        assert resident.tell("free 25", "alloc 7", "poll") == []  # 20 of these are older
        assert session.stop() == 0
        assert resident.tell("alloc 100", "free 112") == ["disabled"]
        assert heaps(session.file)["resident"] == (1200, 12, 1700, 17)


def test_sessions_of_different_intervals(resident, attach, heaps):
    need_ptrace()
    for interval in (4096, 65536):
        session = attach(resident.pid, options=("-i", interval))
        assert session.is_recording, session.said
        assert resident.tell("alloc 100000") == [f"enabled {interval}"]
        assert session.stop() == 0
        assert resident.tell("poll") == ["disabled"]
        size_bytes = heaps(session.file)["resident"][2]
        deviation = (interval / 10000000) ** 0.5  # of the estimate of 10,000,000 bytes
        assert abs(size_bytes / 10000000 - 1) < 5 * deviation


def test_library_that_is_unloaded_between_sessions(resident, attach):
    need_ptrace()
    assert resident.tell("plugin") == ["plugin's heap 2"]
    session = attach(resident.pid)
    assert sorted(resident.tell("poll")) == ["enabled 1", "plugin enabled, 1"]
    session.stop()
    assert sorted(resident.tell("poll")) == ["disabled", "plugin disabled"]
    session = attach(resident.pid)
    assert sorted(resident.tell("poll")) == ["enabled 1", "plugin enabled, 1"]
    assert resident.tell("unload") == ["unloaded 1"]
    session.stop()
    assert resident.tell("poll") == ["disabled"]
    session = attach(resident.pid)
    assert resident.tell("poll", "alloc 1") == ["enabled 1"]
    session.stop()
    assert resident.tell("plugin") == ["disabled", "plugin's heap 3"]  # registering lets callbacks run


@pytest.mark.parametrize("interval", [1, 512])
def test_killed(resident, attach, heaps, interval):
    need_ptrace()
    session = attach(resident.pid, options=("-i", interval))
    assert session.is_recording, session.said
    resident.tell("alloc 1000", "free 400")
    resident.process.kill()
    session.wait()
    live_bytes, live_count, size_bytes, count = heaps(session.file)["resident"]
    if interval == 1:
        assert (live_bytes, live_count, size_bytes, count) == (60000, 600, 100000, 1000)
    else:
        assert 30000 < live_bytes < 90000 and 60000 < size_bytes < 140000


def test_forked_child(run, heapscope, target, flags):
    """The child has the heap with what it inherited, and no callback runs in it."""
    program = target("api_resident", *flags[0], *flags[1])
    done = run([program], "-i", 1, input="alloc 10\nfork\nfree 4\n")
    assert done.stdout == "enabled 1\nok\nok\nok\n"
    query = """SELECT upid, sum(size) AS live FROM heap_profile_allocation WHERE heap_name = 'resident' GROUP BY 1 ORDER BY 2"""
    rows = json.loads(heapscope("query", "--format", "json", done.file, query).stdout)
    assert [row["live"] for row in rows] == [600, 1500]
