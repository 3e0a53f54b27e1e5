"""A program that overwrites its own region all the time: the collector ends when the program does,
with its exit status, a readable file, and no more memory than for any other program."""

import subprocess
import sys

import pytest
from conftest import clean_env

PARTS = {
    "control": ["control"],
    "counts": ["counts"],
    "header": ["header"],
    "blocks and threads": ["0", "1"],
    "modules and texts": ["2", "3"],
    "frames": ["4", "5"],
    "stacks": ["6"],
    "records": ["7"],
    "everything": ["control", "header", "counts", *map(str, range(8))],
    "all but the header": ["control", *map(str, range(8))],
}
MEMORY_MAX_KIB = 400 * 1024

# Starts a command and prints the size of its largest process: measured from here, the test's own
# size would count in its children's.
WATCH = """
import os, resource, subprocess, sys
status = subprocess.run(sys.argv[1:], timeout=120).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("seconds", [0.3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("parts", PARTS)
def test_region_overwritten_while_it_is_read(dist, heapscope, target, root, tmp_path, parts, seconds):
    file = tmp_path / "x"
    program = target("scribbler", "-pthread", "-I", str(root / "src"))
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", "1", "--dump-every", "10ms", "-o", file,
               "--", program, seconds, *PARTS[parts]]
    watched = [sys.executable, "-c", WATCH, *map(str, command)]
    done = subprocess.run(watched, env=clean_env(), capture_output=True, text=True, check=False)
    assert done.returncode == 5, done.stderr
    assert int(done.stdout) < MEMORY_MAX_KIB
    # The commands may show anything for such figures, but must show something.
    for command in (["report", "--json"], ["report", "--tree"], ["export", "--format", "folded"]):
        out = ["-o", tmp_path / "out"] if command[0] == "export" else []
        done = heapscope(*command, file, *out)
        assert done.returncode in (0, 1), done.stderr
        assert done.returncode == 0 or done.stderr.startswith("heapscope: "), done.stderr


def test_it_is_one_process_that_cannot_be_read(heapscope, target, root, tmp_path):
    """However many snapshots failed."""
    program = target("scribbler", "-pthread", "-I", str(root / "src"))
    options = ["-i", 1, "--dump-every", "10ms", "-o", tmp_path / "x"]
    done = heapscope("run", *options, "--", program, 0.5, "counts")
    assert done.returncode == 5
    assert "heapscope: 1 process could not be read and is missing: " in done.stderr
