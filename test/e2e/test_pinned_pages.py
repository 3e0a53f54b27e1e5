"""Which stacks' live blocks keep nearly empty pages, and what freeing them gives back: predicted, then tried."""

import contextlib
import json
import os
import re
import signal
import subprocess

import pytest
from conftest import clean_env
from waiting import wait_for_snapshot

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
        wait_for_snapshot(heapscope, pid, tmp_path / "now.pftrace")
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


@pytest.mark.costly(cases=2)
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


@pytest.mark.costly(cases=4)
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
    more = re.search(r"take ([\d.]+) KiB more than the program asked for: ([\d.]+) KiB for malloc's own words", words)
    assert float(more[1]) * 1024 == pytest.approx(said["pinned_pages"]["rounding_bytes"], rel=0.01)
    assert float(more[2]) < float(more[1])
    # A block of 48 bytes takes 64.
    stack = said["pinned_pages"]["stacks"][0]
    assert stack["rounding_bytes"] == stack["block_count"] * 16
    rows = heapscope("query", "--format", "json", tmp_path / "now.pftrace",
                     "SELECT p.gain_bytes, n.name FROM heapscope_pinned_pages p JOIN heapscope_nodes n ON n.id = p.node_id")
    assert {"gain_bytes": stack["gain"]["bytes"], "name": "keep_header"} in json.loads(rows.stdout)


def remedies(said):
    return {row["remedy"] for row in said["ledger"]["remedies"]}


@pytest.mark.costly
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


def sparse_bytes(pins):
    return sum(pins["page_counts"][1:3]) * 4096


def test_attached(dist, heapscope, report, program, tmp_path):
    """Blocks from before the recording keep pages, and no stack is named for them."""
    file = tmp_path / "now.pftrace"
    with subprocess.Popen([program, "comb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as process:
        assert process.stdout.readline() == "ready\n"
        with subprocess.Popen(list(map(str, [dist / "bin" / "heapscope", "attach", process.pid, "-q", "-i", "1", "-o", tmp_path / "x.pftrace"])),
                              env=clean_env()) as recording:
            wait_for_snapshot(heapscope, process.pid, file)
            recording.send_signal(signal.SIGINT)
            assert recording.wait(60) == 0
        process.stdin.close()
        assert process.wait(60) == 0
    pins = report(file)["pinned_pages"]
    assert sparse_bytes(pins) > 16 << 20 and not any(site(stack) for stack in pins["stacks"])
    assert pins["unknown_page_bytes"] == pytest.approx(sparse_bytes(pins), rel=0.01)


@pytest.mark.costly
def test_several_processes(dist, heapscope, report, program, tmp_path):
    """The pages of several processes are added up; what freeing blocks would give back is told for each stack."""
    def pins(count):
        file = tmp_path / f"{count}.pftrace"
        script = 'for i in $(seq "$1"); do (sleep 2.5 | "$0" comb) & done; wait'
        done = heapscope("run", "-q", "-i", "1", "--dump-every", "300ms", "-o", file, "--", "/bin/sh", "-c", script, program, str(count))
        assert done.returncode == 0, done.stderr
        whole = report(file)
        assert sum(process["exe"] == str(program) for process in whole["processes"]) == count
        return whole["pinned_pages"]
    one, two = pins(1), pins(2)
    assert two["process_count"] >= 2 and sparse_bytes(two) == pytest.approx(2 * sparse_bytes(one), rel=0.02)
    of_one, of_two = (next(stack for stack in found["stacks"] if site(stack) == "keep_header") for found in (one, two))
    for column in ("block_count", "sparse_page_bytes"):
        assert of_two[column] == pytest.approx(2 * of_one[column], rel=0.02)
    assert of_two["gain"]["bytes"] == pytest.approx(2 * of_one["gain"]["bytes"], rel=0.02)
