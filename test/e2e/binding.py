"""Programs that are linked with libheapscope_malloc.so, and what heapscope found of them."""

import os
import pathlib
import subprocess

import pytest
from conftest import clean_env
from waiting import PATIENCE_S

OWN = {"make", "before_main", "main", "Early"}
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
# name: the libraries in the order of the link command
ORDERS = {
    "first": ["-lheapscope_malloc"],
    "behind libc": ["-lc", "-lheapscope_malloc"],
    "behind jemalloc": ["-l:libjemalloc.so.2", "-lheapscope_malloc"],
    "before jemalloc": ["-lheapscope_malloc", "-l:libjemalloc.so.2"],
    "behind tcmalloc": ["-l:libtcmalloc_minimal.so.4", "-lheapscope_malloc"],
    "before tcmalloc": ["-lheapscope_malloc", "-l:libtcmalloc_minimal.so.4"],
    "behind mimalloc": ["-l:libmimalloc.so.2", "-lheapscope_malloc"],
    "with libheapscope": ["-lheapscope", "-lheapscope_malloc"],
}


class Program:
    """test/target/bound.c, while it runs."""

    def __init__(self, program, env):
        self.process = subprocess.Popen([program], env=clean_env(**env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the program has ended"
        return answer.rstrip("\n")

    def truth(self):
        return tuple(map(int, self.tell("truth").split()))

    def end(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)


def compile_with(target, dist, name, libraries, *flags):
    """A program of test/target, linked with libraries of build/dist or of the system, in this order."""
    for library in libraries:
        if library.startswith("-l:") and not (LIBRARIES / library[3:]).exists():
            pytest.skip(f"{library[3:]} is not there")
    return target(name, "-fno-builtin", "-I", str(dist / "include"), "-L", str(dist / "lib"), f"-Wl,-rpath,{dist / 'lib'}",
                  "-Wl,--no-as-needed", *libraries, *flags)


class Programs:
    """start(PROGRAM, **ENV) starts one; a daemon of the test listens at folder / "sock", if there is one."""

    def __init__(self, folder):
        self.folder, self.made = folder, []

    def start(self, program, interval=1, **env):
        env = {"HEAPSCOPE_SOCKET": self.folder / "sock", **({"HEAPSCOPE_INTERVAL": interval} if interval else {}), **env}
        self.made.append(Program(program, env))
        return self.made[-1]

    def end_all(self):
        for program in self.made:
            program.process.kill()
            program.process.wait()
            program.process.stdin.close()
            program.process.stdout.close()


def own_figures(report, file):
    """(live bytes, live blocks, bytes, blocks) of the program's own functions: each view has one of them."""
    result = []
    for view in ("space", "objects", "alloc_space", "alloc_objects"):
        rows = report(file, "--view", view, "--top", "all")["functions_by_self"]
        key = "count" if view.endswith("objects") else "bytes"
        result.append(round(sum(row["self"][key] for row in rows if row["function"].split("(")[0].split("::")[0] in OWN)))
    return tuple(result)


def kept_descriptors(pid):
    folder = pathlib.Path(f"/proc/{pid}/fd")
    return [int(fd.name) for fd in folder.iterdir() if "memfd:heapscope" in os.readlink(fd)]
