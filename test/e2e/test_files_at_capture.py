"""Names come from the files that a process really had: one that is deleted or replaced before the recording ends, one of
another root, of a process that is gone. A file of the same path that is another one never names anything."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import symbols_reference as reference
from conftest import clean_env
from daemon import Program
from resident import need_ptrace

IS_ROOT = os.geteuid() == 0
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void *FUNCTION(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
int main(void)
{
    puts("ready"); fflush(stdout);
    while (getchar() == '\n') {
        for (int i = 0; i < 1000; i++) FUNCTION(5000);
        puts("done"); fflush(stdout);
    }
    return 0;
}
"""
IDS = pytest.mark.parametrize("build_id", ["sha1", "none"])


@pytest.fixture
def start():
    programs = []

    def call(*command):
        process = subprocess.Popen(
            [str(c) for c in command], env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        programs.append(Program(process))
        assert process.stdout.readline() == "ready\n"
        return programs[-1]

    yield call
    for program in programs:
        program.end()
        program.process.stdout.close()


def build(path, function, build_id="sha1", *flags):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-x", "c", "-", "-O1", f"-DFUNCTION={function}", f"-Wl,--build-id={build_id}", *flags, "-o", path],
        input=SOURCE, text=True, check=True)
    return path


def replace(path, function, build_id):
    """As an upgrade does: the new file has the old one's name and another inode."""
    os.rename(build(path.with_suffix(".new"), function, build_id), path)


def functions(report, file):
    """All functions in the report."""
    return set(re.findall(r'"function": ?"([^"]*)"', json.dumps(report(file, "--top", "all", "--view", "alloc_objects"))))


@pytest.fixture
def by_attaching(start, attach, report):
    """Starts a program and records it: returns the program, and a function that ends the recording and returns all
    functions."""
    need_ptrace()

    def call(*command):
        program = start(*command)
        session = attach(program.pid)
        assert session.is_recording, session.said

        def end():
            assert session.stop() == 0, session.said
            return functions(report, session.file)

        return program, end

    return call


@pytest.fixture
def by_the_daemon(daemon, report):
    def call(*command):
        program = daemon.launch([str(c) for c in command])
        assert program.process.stdout.readline() == "ready\n"
        name = daemon.begin("-p", program.pid)
        return program, lambda: functions(report, daemon.stop(name).file)

    return call


def change(path, what, program, build_id):
    if what == "replaced":
        replace(path, "second", build_id)
    else:
        path.unlink()
    assert program.step() == "done\n"
    if what == "ended":
        program.end()


@pytest.mark.costly(cases=2)
@IDS
@pytest.mark.parametrize("what", ["deleted", "replaced", "ended"])
def test_attached_program_whose_file_is_gone_at_the_end(by_attaching, tmp_path, what, build_id):
    path = build(tmp_path / "a program", "first", build_id)
    program, end = by_attaching(path)
    change(path, what, program, build_id)
    named = end()
    assert "first" in named and "second" not in named


@pytest.mark.costly(cases=2)
@IDS
@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_daemon_whose_finalizer_has_the_file(by_the_daemon, tmp_path, what, build_id):
    """The finalizer is another process, which gets the descriptors."""
    path = build(tmp_path / "a program", "first", build_id)
    program, end = by_the_daemon(path)
    assert program.step() == "done\n"
    change(path, what, program, build_id)
    named = end()
    assert "first" in named and "second" not in named


@IDS
def test_short_program_that_is_removed_before_the_recording_ends(run, report, tmp_path, build_id):
    path = build(tmp_path / "a program", "first", build_id)
    done = run(["sh", "-c", '{ sleep 0.1; echo; } | "$0" >/dev/null; rm "$0"; sleep 0', path], "-i", "1")
    assert done.status == 0 and not path.exists()
    assert "first" in functions(report, done.file)


# --- other roots -------------------------------------------------------------------------------------


MOUNT = 'mount --rbind /proc "$1/proc" && exec chroot "$@"'
ENTER = {"mounts": ["unshare", "-m", "sh", "-c", MOUNT, "sh"], "users": ["unshare", "-r", "-m", "sh", "-c", MOUNT, "sh"]}


def copy_into(root, path):
    target = pathlib.Path(f"{root}{path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath(path), target)


@pytest.fixture
def world(tmp_path):
    """A root with libraries, a path, and the program "inside" there; outside, the path is another program."""
    root, path = tmp_path / "root", tmp_path / "bin" / "program"
    (root / "proc").mkdir(parents=True)
    need_root()

    def make(build_id, *flags):
        inside = build(pathlib.Path(f"{root}{path}"), "inside", build_id, *flags)
        build(path, "outside", build_id)
        for library in re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", inside], text=True)):
            copy_into(root, library)
        return root, path, inside

    return make


def need_root():
    if not IS_ROOT or not shutil.which("unshare"):
        pytest.skip("makes roots of its own")


@pytest.mark.costly(cases=2)
@IDS
@pytest.mark.parametrize("way", ENTER)
@pytest.mark.parametrize("is_over", [False, True], ids=["alive", "over"])
def test_container_has_names_of_its_own(by_attaching, world, way, is_over, build_id):
    root, path, _ = world(build_id)
    program, end = by_attaching(*ENTER[way], root, path)
    assert program.step() == "done\n"
    if is_over:
        shutil.rmtree(root)
        program.end()
    named = end()
    assert "inside" in named and "outside" not in named


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("way", ENTER)
@pytest.mark.parametrize("place", ["build id", "link"])
def test_debug_files_of_a_container(by_attaching, world, way, place):
    """The module has no names; its debug file is in the container, where the host has none."""
    root, path, inside = world("sha1")
    debug = inside.with_suffix(".debug")
    build_id = reference.build_id(inside)
    subprocess.run(["objcopy", "--only-keep-debug", inside, debug], check=True)
    subprocess.run(["objcopy", "-S", f"--add-gnu-debuglink={debug}", inside], check=True)
    if place == "build id":
        target = root / "usr/lib/debug/.build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    else:
        target = pathlib.Path(f"{root}/usr/lib/debug{path}").with_suffix(".debug")
    target.parent.mkdir(parents=True)
    shutil.move(debug, target)
    program, end = by_attaching(*ENTER[way], root, path)
    assert program.step() == "done\n"
    assert "inside" in end()


def test_files_that_a_container_links_to_stay_inside_it(by_attaching, world):
    """An absolute link in a root means a file of that root."""
    root, path, inside = world("sha1")
    debug = inside.with_suffix(".hidden")
    build_id = reference.build_id(inside)
    subprocess.run(["objcopy", "--only-keep-debug", inside, debug], check=True)
    subprocess.run(["strip", "-s", inside], check=True)
    link = root / "usr/lib/debug/.build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    link.parent.mkdir(parents=True)
    link.symlink_to(path.with_suffix(".hidden"))
    program, end = by_attaching(*ENTER["mounts"], root, path)
    assert program.step() == "done\n"
    assert "inside" in end()
    shutil.move(debug, path.with_suffix(".hidden"))
    program, end = by_attaching(*ENTER["mounts"], root, path)
    assert program.step() == "done\n"
    assert "inside" not in end()


# --- bubblewrap --------------------------------------------------------------------------------------


LIBRARY = """
#include <stdlib.h>
__attribute__((noinline)) void *FUNCTION(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
void *allocate(size_t n) { void *p = FUNCTION(n); __asm__ volatile("" : : "r"(p)); return p; }
"""


@pytest.fixture
def sandbox():
    """Starts a command under bwrap; skips where the kernel or the machine does not allow it."""
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    done = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"bwrap cannot run here: {done.stderr.strip()}")

    def call(root, *options):
        return ["bwrap", "--bind", root, "/", "--dev", "/dev", "--proc", "/proc", *options]

    return call


def build_library(path, function, build_id):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-x", "c", "-", "-O1", "-shared", "-fPIC", f"-DFUNCTION={function}", f"-Wl,--build-id={build_id}", "-o", path],
                   input=LIBRARY, text=True, check=True)


@pytest.fixture
def boxed(tmp_path):
    """A root with a program and its library; outside, a library of the same path is another one."""

    def make(build_id):
        root, library = tmp_path / "the root", tmp_path / "lib" / "liballocate.so"
        program = pathlib.Path(f"{root}{tmp_path}/bin/program")
        for at, function in ((pathlib.Path(f"{root}{library}"), "inside"), (library, "outside")):
            build_library(at, function, build_id)
        program.parent.mkdir(parents=True)
        subprocess.run(["gcc", "-x", "c", "-", "-O1", "-DFUNCTION=allocate", "-o", program, "-x", "none", library, f"-Wl,-rpath,{library.parent}"],
                       input=re.sub(r"__attribute__.*", "void *allocate(size_t);", SOURCE), text=True, check=True)
        for needed in re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", program], text=True)):
            if needed != str(library):
                copy_into(root, needed)
        for folder in ("dev", "proc"):
            (root / folder).mkdir()
        return root, tmp_path / "bin/program"

    return make


def child_of(pid):
    """The program that bwrap runs."""
    while True:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            return pid
        pid = int(children[0])


@IDS
@pytest.mark.parametrize("space", [[], ["--unshare-pid"]], ids=["pids of the host", "pids of its own"])
@pytest.mark.parametrize("what", ["alive", "deleted", "ended"])
def test_bubblewrap(start, attach, report, sandbox, boxed, space, what, build_id):
    """Another root in which the same path is another library; pids of its own; a root that is deleted while the program runs."""
    need_ptrace()
    root, path = boxed(build_id)
    program = start(*sandbox(root, *space), path)
    session = attach(child_of(program.pid))
    assert session.is_recording, session.said
    if what == "deleted":
        shutil.rmtree(root)
    assert program.step() == "done\n"
    if what == "ended":
        shutil.rmtree(root)
        program.end()
    assert session.stop() == 0, session.said
    named = functions(report, session.file)
    assert "inside" in named and "outside" not in named


@pytest.mark.parametrize("space", [[], ["--unshare-pid"]], ids=["pids of the host", "pids of its own"])
def test_run_bubblewrap(run, report, dist, sandbox, boxed, space):
    """Under `run`: bwrap itself is recorded, and the program in it, which has the client from its root."""
    if " " in str(dist):
        pytest.skip("heapscope lies under a path with a blank: the link to its library in /tmp is not in another root")
    root, path = boxed("sha1")
    client = dist / "lib" / "libheapscope_preload.so"
    command = sandbox(root, "--ro-bind", client, client, *space)
    done = run([*map(str, command), path], "-i", "1", input="\n")
    assert done.status == 0, done.stderr
    named = functions(report, done.file)
    assert "inside" in named and "outside" not in named, (named, done.stderr)
