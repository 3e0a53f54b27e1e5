"""Programs that run while the types of their blocks are read."""

import json
import os
import subprocess

from conftest import clean_env
from waiting import let_time_pass, wait_for_snapshot, wait_until


class Running:
    """A program under `run -i 1` that has printed "ready"; `said` are the lines before."""

    def __init__(self, dist, file, program, *options):
        command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "-o", file, *options, "--", *program]
        self.collector = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                          env=clean_env())
        self.said = []
        for line in self.collector.stdout:
            if line == "ready\n":
                break
            self.said.append(line.rstrip("\n").split("\t"))
        children = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.collector.pid)], stdout=subprocess.PIPE, text=True)
        name = os.path.basename(str(program[0]))[:15]
        lines = [line.split(None, 1) for line in children.stdout.splitlines()]
        self.pid = int(next(pid for pid, comm in lines if comm == name))

    def end(self):
        self.collector.stdin.close()
        return self.collector.wait(60)


def types_of(heapscope, file, *options):
    done = heapscope("report", "--json", "--by", "type", *options, file)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return {part["type"]: part["amount"] for part in report["parts"]}


def snapshot(heapscope, pid, file, *options):
    """Types that were read a moment ago are not read again: ten times what that took."""
    let_time_pass(0.5, "types are read again")
    wait_for_snapshot(heapscope, pid, file, *options)
    return file


def style_sheets(dist, heapscope, target, folder, *arguments):
    """A snapshot of test/target/style_sheets.cc with the types of all its objects: a reading of types ends after a while,
    and the next one goes on."""
    flags = ["-pthread", "-I", dist / "include", "-L", dist / "lib", "-lheapscope", f"-Wl,-rpath,{dist / 'lib'}"]
    it = Running(dist, folder / "run.pftrace", [target("style_sheets", *map(str, flags)), *arguments])
    file = folder / "now.pftrace"

    def is_known():
        types = types_of(heapscope, snapshot(heapscope, it.pid, file))
        found = sum(types[name]["count"] for name in types if name.startswith("blink::"))
        return found == 371 + 476 + 1024 + 512 * len(arguments) and "(not read)" not in types

    wait_until(is_known)
    assert it.end() == 0
    return file
