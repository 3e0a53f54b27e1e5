"""Stacks through code whose unwind information is not in memory: in .debug_frame, a debug file or mini debug info."""

import os
import signal
import subprocess

import pytest
from conftest import clean_env
from unwind_modules import PLACES, SOURCE, Module, call, has_tables, make_program, stacks_of, table_inode, through_second
from waiting import PATIENCE_S, child_pids, wait_for_snapshot, wait_until

TABLES = [place for place in PLACES if place not in ("eh_frame", "frame_pointer", "nothing")]
WORK_BYTES = sum(1000 + (i & 7) for i in range(1000))


class Recorded:
    """`heapscope run` of a program that waits for lines."""

    def __init__(self, dist, file, command, env):
        self.file = file
        self.env = clean_env(**env)
        self.process = subprocess.Popen([str(dist / "bin" / "heapscope"), "run", "-q", "-i", "1", "-o", str(file), "--", *map(str, command)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        assert self.process.stdout.readline() == "allocating\n"
        self.pid = child_pids(self.process.pid)[0]

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for_tables(self):
        wait_until(lambda: has_tables(self.pid), "the client gets no tables")

    def wait_for_reading(self, heapscope):
        """A snapshot reads the files of the modules that are there."""
        wait_for_snapshot(heapscope, self.pid, self.file.with_suffix(".first.pftrace"))

    def end(self):
        self.say("end")
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, errors


@pytest.fixture
def recorded(dist, tmp_path):
    running = []

    def start(command, env, name="through.pftrace"):
        running.append(Recorded(dist, tmp_path / name, command, env))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def assert_whole(stacks, work_bytes=WORK_BYTES):
    """Every stack of second() is whole from _start to malloc, and none is missing."""
    found = through_second(stacks)
    assert found, stacks
    for stack in found:
        assert stack[-4:] == ("second", "work_a", "work_b", "work_c"), stack
        assert stack[0] == "_start" and "main" in stack, stack
    assert sum(found.values()) == work_bytes, found


CASES = [(place, how, optimize, compiler) for place in TABLES
         for how, optimize, compiler in [("library", "-O2", "gcc"), ("pie", "-O0", "gcc"), ("fixed", "-O2", "clang")]]


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("place, how, optimize, compiler", [*CASES, ("frame_pointer", "library", "-O2", "gcc")])
def test_run(recorded, heapscope, tmp_path, place, how, optimize, compiler):
    """Whole as soon as the tables are there, and with the same names as the same program with .eh_frame."""
    program, env = make_program(tmp_path / "a b", place, how, optimize, compiler)
    run = recorded([program], env)
    if place != "frame_pointer":
        run.wait_for_tables()
    run.end()
    assert_whole(stacks_of(heapscope, run.file, env))


def test_eh_frame_needs_no_table(recorded, heapscope, tmp_path):
    program, env = make_program(tmp_path / "with", "eh_frame")
    run = recorded([program], env)
    run.end()
    stacks = stacks_of(heapscope, run.file, env)
    assert_whole(stacks)
    assert not any("ERROR" in stack[0] for stack in stacks)


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("place", TABLES)
def test_attach(attach, heapscope, tmp_path, place):
    """No stack is cut: the tables are there before the first sample."""
    program, env = make_program(tmp_path / "with", place)
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env())
    assert process.stdout.readline() == "allocating\n"
    attached = attach(process.pid, env=env)
    wait_until(lambda: has_tables(process.pid), "the client gets no tables")
    process.communicate("end\n", timeout=PATIENCE_S)
    assert attached.wait() == 0, attached.said
    stacks = stacks_of(heapscope, attached.file, env)
    assert_whole(stacks)
    assert not any("ERROR" in stack[0] for stack in stacks), stacks


def test_children_inherit(recorded, heapscope, tmp_path):
    """Two generations: their first sample is in code for which their parent had a table."""
    program, env = make_program(tmp_path / "with", "debug_frame")
    run = recorded([program, "fork"], env)
    run.wait_for_tables()
    run.end()
    assert_whole(stacks_of(heapscope, run.file, env), 2 * WORK_BYTES)


def test_opened_later(recorded, heapscope, tmp_path):
    """A library that the program opens after others have needed no table."""
    library = Module(tmp_path / "with", "libopened.so", "debug_frame", ["-O2", "-DLIBRARY", "-shared", "-fPIC"])
    plain = tmp_path / "through"
    call("gcc", "-O1", "-g", "-DPROGRAM", "-rdynamic", SOURCE, "-o", plain, "-pthread")
    run = recorded([plain, "open", library.file], {})
    run.say("open")
    run.wait_for_tables()
    run.end()
    assert_whole(stacks_of(heapscope, run.file, {}))


def test_tables_come_while_threads_allocate(recorded, heapscope, tmp_path):
    program, env = make_program(tmp_path / "with", "mini_debug_frame")
    run = recorded([program, "threads"], env)
    run.wait_for_tables()
    run.end()
    assert_whole(stacks_of(heapscope, run.file, env))


def test_sessions_and_a_killed_daemon(daemon, heapscope, tmp_path):
    """Each session of a daemon has a region of its own, and tables in it. The next daemon goes on where a killed one stopped."""
    program, env = make_program(tmp_path / "with", "debug_frame")
    running = daemon.launch([program])
    assert running.process.stdout.readline() == "allocating\n"
    first = daemon.begin("-i", 1, "--pid", running.pid)
    wait_until(lambda: has_tables(running.pid), "no tables in the first session")
    inode = table_inode(running.pid)
    daemon.stop(first)
    second = daemon.begin("-i", 1, "--pid", running.pid)
    wait_until(lambda: table_inode(running.pid) not in (None, inode), "no tables in the second session")
    inode = table_inode(running.pid)
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.process.wait(PATIENCE_S)
    daemon.start()
    wait_until(lambda: daemon.client(running.pid), "the next daemon does not know the program")
    running.process.communicate("end\n", timeout=PATIENCE_S)
    file = daemon.stop(second).file
    assert_whole(stacks_of(heapscope, file, env))


def cut_in(report, file, name):
    """What the report says of the stacks that end in the module of this name."""
    return [cut for cut in report(file)["cut_modules"] if cut["module"].endswith("/" + name)]


def test_nothing_is_named(recorded, heapscope, report, tmp_path):
    """Stacks end in a library that has no information of any kind, and the report says in which, how much, why, and what helps."""
    program, env = make_program(tmp_path / "with", "nothing")
    run = recorded([program], env)
    run.wait_for_reading(heapscope)
    run.end()
    [cut] = cut_in(report, run.file, "libthrough.so")
    stacks = stacks_of(heapscope, run.file, env)
    assert cut["reason"] == "absent" and "-fasynchronous-unwind-tables" in cut["remedy"]
    assert cut["alloc_bytes"] == sum(count for stack, count in stacks.items() if stack[0].startswith("ERROR")) >= WORK_BYTES
    assert not through_second(stacks)
    text = " ".join(heapscope("report", run.file).stdout.split())
    assert "Stacks end in libthrough.so (" in text and "neither it nor a debug file has unwind information" in text
    assert " ".join(heapscope("report", "--health", run.file).stdout.split()).count("Stacks end in libthrough.so (") == 1


def test_debug_file_of_another_build_is_refused(recorded, heapscope, report, tmp_path):
    """Its addresses would lead to wrong frames."""
    program, env = make_program(tmp_path / "with", "debuglink")
    other = Module(tmp_path / "other", "libthrough.so", "debuglink", ["-O0", "-rdynamic", "-DLIBRARY", "-shared", "-fPIC"])
    debug = ".debug/libthrough.so.debug"
    (other.folder / debug).replace(program.parent / debug)
    run = recorded([program], env)
    run.wait_for_reading(heapscope)
    run.end()
    [cut] = cut_in(report, run.file, "libthrough.so")
    assert cut["reason"] == "other_build", cut
    assert not through_second(stacks_of(heapscope, run.file, env))


def test_deleted_file_is_not_read(attach, report, tmp_path):
    """Another file has the library's name by the time heapscope looks. Its information would lead to wrong frames."""
    program, env = make_program(tmp_path / "with", "debug_frame")
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env())
    assert process.stdout.readline() == "allocating\n"
    library = tmp_path / "with" / "libthrough.so"
    library.unlink()
    Module(tmp_path / "with", library.name, "debug_frame", ["-O0", "-DLIBRARY", "-shared", "-fPIC"])
    attached = attach(process.pid, env=env)
    process.communicate("end\n", timeout=PATIENCE_S)
    assert attached.wait() == 0, attached.said
    [cut] = [cut for cut in report(attached.file)["cut_modules"] if "libthrough.so" in cut["module"]]
    assert cut["reason"] == "unreadable", cut


def test_late_tables_are_told(recorded, heapscope, report, tmp_path):
    """The stacks from before heapscope had read the file are named, too."""
    program, env = make_program(tmp_path / "with", "debug_frame")
    run = recorded([program], env)
    run.wait_for_tables()
    run.end()
    stacks = stacks_of(heapscope, run.file, env)
    early_bytes = sum(count for stack, count in stacks.items() if stack[0].startswith("ERROR"))
    cuts = cut_in(report, run.file, "libthrough.so")
    assert sum(cut["alloc_bytes"] for cut in cuts) == early_bytes
    assert all(cut["reason"] == "late" for cut in cuts)


@pytest.mark.costly(cases=1)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs to act for several users")
@pytest.mark.parametrize("mode, is_read", [(0o644, True), (0o600, False)])
def test_files_are_read_with_the_rights_of_the_program(attach, heapscope, report, folder, mode, is_read):
    """root attaches to another user's program. A debug file that this user may not read is not read for it."""
    program, env = make_program(folder / "with", "build_id")
    for path in [folder / "with", *(folder / "with").rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.parent == folder / "with" else mode)
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env(),
                               user=65534, group=65534, extra_groups=[])
    assert process.stdout.readline() == "allocating\n"
    attached = attach(process.pid, env=env)
    process.communicate("end\n", timeout=PATIENCE_S)
    assert attached.wait() == 0, attached.said
    stacks = stacks_of(heapscope, attached.file, env)
    if is_read:
        assert_whole(stacks)
    else:
        assert not through_second(stacks)
        [cut] = cut_in(report, attached.file, "libthrough.so")
        assert cut["reason"] == "absent"
