"""Shared by the tests of injection: the tool and its library, built once, and programs to inject
into."""

import contextlib
import ctypes
import pathlib
import struct
import subprocess

from compiling import INCLUDES, ROOT, arch_source, sources_of
from waiting import wait_for_state, wait_until

VALUE = "-4711"


def tools_in(folder):
    """The tool and the library that it brings."""
    return folder / "inject_tool", folder / "injected.so"


def build(folder):
    """Builds the tool and the library that it injects, in `folder`."""
    tool, library = tools_in(folder)
    sources = [*sources_of("inject"), *sources_of("unwind"), *sources_of("util", "selfpath", "json_read"),
               arch_source("hold_page.S")]
    flags = ["-std=c17", "-O2", "-g", "-D_GNU_SOURCE", *INCLUDES, "-I", ROOT / "test/e2e"]
    subprocess.run(["gcc", *flags, ROOT / "test/e2e/inject_tool.c", *sources, "-o", tool, "-pthread", "-lm"],
                   check=True)
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", ROOT / "test/e2e/injected.c", "-o", library],
                   check=True)


def words(text):
    """Lines "key value" as a dictionary."""
    lines = [line.partition(" ") for line in text.splitlines()]
    return {key: value for key, _, value in lines}


@contextlib.contextmanager
def running(command, ready="ready", **options):
    """Starts a program and waits until it says that it is ready; kills it at the end if it still
    runs."""
    program = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                               stdin=subprocess.PIPE, text=True, **options)
    try:
        if ready:
            assert program.stdout.readline().strip() == ready
        yield program
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
        program.stdin.close()


def wait_for_call(pid):
    """Waits until the first thread waits in a system call."""
    wait_for_state(pid, "S")


def wait_for_signals(pid):
    """Waits until no signal is pending: of signals that are not queued, a second one would be lost."""
    wait_until(lambda: all(int(mask, 16) == 0 for mask in status(pid, "SigPnd", "ShdPnd")), "signals stay pending", 60,
               every_s=0.001)


def maps(pid):
    """The mapped files in the order of their addresses, and how often each is mapped."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        name = line.split(None, 5)[5] if len(line.split(None, 5)) > 5 else ""
        found[name] = found.get(name, 0) + 1
    return found


def descriptors(pid):
    folder = pathlib.Path(f"/proc/{pid}/fd")
    return {entry.name: str(entry.readlink()) for entry in folder.iterdir()}


def scheduling(pid):
    """What sched_getattr(2) says about each thread: policy, flags, nice, priority, slice."""
    libc, sched_getattr, found = ctypes.CDLL(None), 315, {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        attr = ctypes.create_string_buffer(48)
        if libc.syscall(sched_getattr, int(task.name), attr, 48, 0) == 0:
            found[task.name] = struct.unpack_from("=IQiIQ", attr.raw, 4)
    return found


def assert_scheduled(pid, before):
    """Waits until this is as before: a thread that was left in the middle of a call may still be
    returning from it."""
    wait_until(lambda: scheduling(pid) == before, lambda: f"{scheduling(pid)}, not {before}", every_s=0.001)


def status(pid, *keys):
    lines = dict(line.split(":", 1) for line in
                 pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return [lines[key].strip() for key in keys]
