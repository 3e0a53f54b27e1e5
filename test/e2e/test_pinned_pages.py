"""Which stacks' live blocks keep nearly empty pages, and what freeing them gives back: predicted, then tried."""

import contextlib
import json
import os
import subprocess

import pytest
from conftest import clean_env
from waiting import wait_until

PATTERNS = ["comb", "two", "alike", "large", "arenas", "arenas of fast blocks", "grown", "crossed"]
# The lists of the thread that frees keep up to 7 blocks of a size, and their pages.
LISTS_BYTES = 128 * 1024


class Tried:
    """A program that is recorded, and does what the lines that it is sent say."""

    def __init__(self, process, pid):
        self.process, self.pid = process, pid
        with open(f"/proc/{pid}/statm") as file:
            fields = file.read().split()
        self.resident = (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGESIZE")

    def gives_back(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        before, self.resident = self.resident, int(self.process.stdout.readline())
        return before - self.resident


def pid_of(process, program):
    """The process of a program that `heapscope run` has started."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        pids = [int(pid) for pid in file.read().split()]
    return next(pid for pid in pids if os.readlink(f"/proc/{pid}/exe") == str(program))


@contextlib.contextmanager
def recorded(dist, heapscope, report, program, pattern, interval, tmp_path, **extra):
    """Yields the program, and the report of a snapshot of it."""
    process = subprocess.Popen([dist / "bin" / "heapscope", "run", "-q", "-i", str(interval), "-o", tmp_path / "x.pftrace",
                                "--", program, pattern], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=clean_env(**extra))
    try:
        assert process.stdout.readline() == "ready\n"
        pid = pid_of(process, program)
        wait_until(lambda: heapscope("snapshot", "-p", pid, "-o", tmp_path / "now.pftrace").returncode == 0)
        yield Tried(process, pid), report(tmp_path / "now.pftrace")
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def site(stack):
    return next((f["function"] for f in stack["frames"] if f["function"].startswith("keep_")), None)


@pytest.fixture
def program(target):
    return target("pinned_pages", "-pthread", "-O1")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_exact(dist, heapscope, report, program, tmp_path, pattern):
    """What is predicted comes back within 10 %: of malloc_trim, and of each set of stacks."""
    with recorded(dist, heapscope, report, program, pattern, 1, tmp_path) as (tried, said):
        pins = said["pinned_pages"]
        assert pins["is_exact"]
        predicted = said["ledger"]["malloc_trim_bytes"]
        assert tried.gives_back("trim") == pytest.approx(predicted, rel=0.05, abs=LISTS_BYTES)
        stacks = [(site(stack), stack) for stack in pins["stacks"]]
        assert stacks[0][0]
        returned = 0
        for name, stack in stacks:
            if not name:
                continue
            assert stack["block_bytes"] > 0 and stack["set_gain"]["bytes"] >= stack["gain"]["bytes"]
            returned += tried.gives_back(f"free {name}")
            assert returned == pytest.approx(stack["set_gain"]["bytes"], rel=0.1, abs=LISTS_BYTES), (name, pins)
        assert pattern == "arenas of fast blocks" or returned >= 1 << 20


@pytest.mark.parametrize("pattern", ["comb", "two", "alike", "large", "arenas", "grown", "crossed"])
def test_estimate(dist, heapscope, report, program, tmp_path, pattern):
    """From samples at the default interval, the interval contains what comes back."""
    with recorded(dist, heapscope, report, program, pattern, 4096, tmp_path) as (tried, said):
        pins = said["pinned_pages"]
        assert not pins["is_exact"]
        tried.gives_back("trim")
        returned = 0
        for name, stack in [(site(stack), stack) for stack in pins["stacks"]]:
            if name:
                returned += tried.gives_back(f"free {name}")
                gain = stack["set_gain"]
                margin = LISTS_BYTES + 0.02 * returned
                assert gain["bytes_low"] - margin <= returned <= gain["bytes_high"] + margin, (name, pins)


def test_words(dist, heapscope, report, program, tmp_path):
    with recorded(dist, heapscope, report, program, "comb", 1, tmp_path) as (_, said):
        pass
    words = " ".join(heapscope("report", "--rss", tmp_path / "now.pftrace").stdout.split())
    assert "Which stacks keep nearly empty pages?" in words
    assert "keep_header" in words and "are in pages that are nearly empty" in words
    counts = said["pinned_pages"]["page_counts"]
    assert len(counts) == 9 and sum(counts[1:3]) > 0.9 * sum(counts)
    # A block of 48 bytes takes 64.
    stack = said["pinned_pages"]["stacks"][0]
    assert stack["rounding_bytes"] == stack["block_count"] * 16
    rows = heapscope("query", "--format", "json", tmp_path / "now.pftrace",
                     "SELECT p.gain_bytes, n.name FROM heapscope_pinned_pages p JOIN heapscope_nodes n ON n.id = p.node_id")
    assert {"gain_bytes": stack["gain"]["bytes"], "name": "keep_header"} in json.loads(rows.stdout)


def remedies(said):
    return {row["remedy"] for row in said["ledger"]["remedies"]}


def test_arenas_remedy(dist, heapscope, report, program, tmp_path):
    """MALLOC_ARENA_MAX is named where free memory lies in many arenas, and makes it less."""
    resident = {}
    for limit in ("", "2", "1"):
        extra = {"MALLOC_ARENA_MAX": limit} if limit else {}
        with recorded(dist, heapscope, report, program, "turns", 65536, tmp_path, **extra) as (_, said):
            resident[limit] = said["ledger"]["rss_bytes"]
            assert ("malloc_arena_max" in remedies(said)) == (not limit and said["ledger"]["malloc_arena_count"] >= 5)
        if not limit:
            if said["ledger"]["malloc_arena_count"] < 5:
                pytest.skip("glibc makes fewer than 5 arenas on this machine")
            words = " ".join(heapscope("report", "--rss", tmp_path / "now.pftrace").stdout.split())
            assert "MALLOC_ARENA_MAX=2" in words
    assert resident["2"] < 0.6 * resident[""] and resident["1"] <= 1.1 * resident["2"]


def test_trim_remedy(dist, heapscope, report, program, tmp_path):
    """malloc_trim is named where it gives much back, and not afterwards."""
    with recorded(dist, heapscope, report, program, "large", 4096, tmp_path) as (tried, said):
        assert "malloc_trim" in remedies(said)
        row = next(row for row in said["ledger"]["remedies"] if row["remedy"] == "malloc_trim")
        assert tried.gives_back("trim") == pytest.approx(row["bytes"], rel=0.05)
        assert heapscope("snapshot", "-p", tried.pid, "-o", tmp_path / "after.pftrace").returncode == 0
        assert "malloc_trim" not in remedies(report(tmp_path / "after.pftrace"))
