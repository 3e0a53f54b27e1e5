"""A process that executes commands while a profiler attaches and detaches, and that profiler."""

import functools
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from conftest import clean_env
from truth import Amounts, new_truth, read_sites


SEIZE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
sys.exit(0 if libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0 else ctypes.get_errno())
"""


@functools.cache
def why_not_traceable():
    """Returns None, or the reason why a process may not attach to another process of its user here."""
    with subprocess.Popen(["sleep", "60"]) as process:
        done = subprocess.run([sys.executable, "-c", SEIZE, str(process.pid)], check=False)
        process.kill()
    return os.strerror(done.returncode) if done.returncode else None


def need_ptrace():
    if why_not_traceable():
        pytest.skip(f"processes may not be attached to here: {why_not_traceable()}")


class Resident:
    """A running test/target/resident.c."""

    children_at_work = 0

    def __init__(self, program, folder, **env):
        self.truth_path = new_truth(folder)
        self.process = subprocess.Popen(
            [program],
            env=clean_env(TRUTH_FILE=self.truth_path, **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def answer(self):
        """The next line that is not a child's."""
        while (line := self.process.stdout.readline()) == "child\n":
            self.children_at_work += 1
        return line

    def wait_for_child(self):
        """Waits until a child has done its work."""
        if not self.children_at_work:
            assert self.process.stdout.readline() == "child\n"
            self.children_at_work += 1

    def tell(self, *words):
        for word in words:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
            if word != "kill":
                answer = self.answer()
                assert answer == "ok\n", answer

    def mappings(self):
        return pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines()

    def our_mappings(self):
        """The mappings that heapscope made, by name: only the last component of the path counts."""
        names = [line.split(maxsplit=5)[5:] for line in self.mappings()]
        return [name[0] for name in names if name and "heapscope" in name[0].rpartition("/")[2]]

    def stop(self):
        self.process.kill()
        self.process.wait()


def leave_to_itself(program, attach):
    """Kills a recording session: the program continues with its functions changed. Returns the
    bytes of its code from before."""
    code = code_of(program)
    session = attach(program.pid)
    assert session.is_recording, session.said
    session.process.kill()
    session.process.communicate()
    program.tell("work")
    assert code_of(program) != code
    return code


def code_of(program):
    """The bytes of the program's own code in its memory."""
    path = f"/proc/{program.pid}/exe"
    own = str(pathlib.Path(path).readlink())
    ranges = [
        [int(n, 16) for n in line.split()[0].split("-")]
        for line in program.mappings()
        if line.endswith(own) and line.split()[1].startswith("r-x")
    ]
    with open(f"/proc/{program.pid}/mem", "rb") as memory:
        pieces = []
        for start, end in ranges:
            memory.seek(start)
            pieces.append(memory.read(end - start))
    assert pieces
    return pieces


class Attached:
    """`heapscope attach`, from the moment when it records until it is stopped."""

    def __init__(self, dist, file, *args, options=("-i", 1), env=None):
        self.file = file
        self.process = subprocess.Popen(
            [str(dist / "bin" / "heapscope"), "attach", "-o", str(file), "--top", "0"]
            + [str(a) for a in (*options, *args)],
            env=clean_env(**(env or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.name = f"attach.{self.process.pid}"  # of the session, as `heapscope list` calls it
        self.said = ""
        while "recording until" not in self.said:
            line = self.process.stderr.readline()
            if not line:
                break
            self.said += line
        self.is_recording = "recording until" in self.said

    def stop(self, with_signal=signal.SIGINT):
        self.process.send_signal(with_signal)
        return self.wait()

    def wait(self):
        self.said += self.process.communicate(timeout=120)[1]
        self.status = self.process.returncode
        return self.status


def differences(report, truth):
    """{site: profile - truth}, except for blocks from before the attach."""
    sites = read_sites(report)
    names = (truth.keys() | sites.keys()) - {"site_before"}
    found = {n: sites.get(n, Amounts()) - truth.get(n, Amounts()) for n in names}
    return {n: d for n, d in found.items() if any(d)}, sites
