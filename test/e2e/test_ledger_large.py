"""The ledger of a large heap: a sample of malloc's chunks, with margins, in little time."""

import contextlib
import json
import pathlib
import re
import subprocess
import time

import pytest
from conftest import clean_env
from test_pinned_pages import pid_of
from waiting import wait_for_snapshot

MIB = 1 << 20
FREE = ("malloc_binned", "malloc_fast", "malloc_cached", "malloc_top")


@contextlib.contextmanager
def recorded(dist, target, folder, *args, interval=4096):
    """The collector, the program, and how many bytes glibc says are free in it."""
    program = target("large_heap")
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", interval, "-o", folder / "x.pftrace", "--", program, *args]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as collector:
        free_bytes = int(collector.stdout.readline().split()[1])
        yield collector.pid, pid_of(collector, program), free_bytes
        collector.stdin.close()
        assert collector.wait(60) == 0


def snapshot(heapscope, pid, file):
    wait_for_snapshot(heapscope, pid, file)
    return file


@pytest.mark.costly
@pytest.mark.parametrize("size, pattern", [(1000, "comb"), (100, "end"), (5000, "full")])
def test_estimates(dist, heapscope, report, target, tmp_path, size, pattern):
    with recorded(dist, target, tmp_path, 100, 400, size, pattern) as (_, pid, free_bytes):
        file = snapshot(heapscope, pid, tmp_path / "now.pftrace")
    ledger = report(file)["ledger"]
    lines = {line["kind"]: line for line in ledger["lines"] if line["kind"].startswith("malloc_")}
    assert sum(line["rss_bytes"] for line in ledger["lines"]) == pytest.approx(ledger["rss_bytes"], abs=MIB)
    assert ledger["malloc_part_share"] == 8 and not ledger["is_free_exact"]
    found = sum(lines.get(kind, {}).get("size_bytes", 0) for kind in FREE)
    margin = lines["malloc_used"]["rss_margin_bytes"]
    assert 0 < margin < 8 * MIB
    # 1 in 10,000 estimates differs by more than two margins. The free end is not an estimate.
    assert abs(found - free_bytes) < 2 * margin
    assert "rss_margin_bytes" not in lines["malloc_top"]
    assert "malloc_unread" not in lines
    rows = heapscope("query", "--format", "json", file,
                     "SELECT rss_bytes, rss_margin_bytes FROM heapscope_ledger WHERE kind = 'malloc_used' AND NOT is_rss_peak")
    assert json.loads(rows.stdout) == [{"rss_bytes": lines["malloc_used"]["rss_bytes"], "rss_margin_bytes": margin}]
    words = " ".join(heapscope("report", "--rss", file).stdout.split())
    assert re.search(r"malloc: blocks that the program holds \([\d,.]+ (M )?blocks\), ± [\d.]+ [KM]iB", words), words
    assert re.search(r"would give back [\d.]+ [KMG]?i?B ± [\d.]+ [KM]iB\. Figures with ± are estimates", words), words
    assert "one part in 8 of malloc's chunks was read" in words


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("mib, interval", [(100, 4096), (300, 1)])
def test_exact(dist, heapscope, report, target, tmp_path, mib, interval):
    """A small heap, and one of which each block is recorded, are read as a whole."""
    with recorded(dist, target, tmp_path, 100, mib, 1000, "comb", interval=interval) as (_, pid, free_bytes):
        file = snapshot(heapscope, pid, tmp_path / "now.pftrace")
    ledger = report(file)["ledger"]
    assert "malloc_part_share" not in ledger and not any("rss_margin_bytes" in line for line in ledger["lines"])
    assert "Figures with ±" not in " ".join(heapscope("report", "--rss", file).stdout.split())
    found = sum(line["size_bytes"] for line in ledger["lines"] if line["kind"] in FREE)
    assert found == pytest.approx(free_bytes, rel=0.01)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def seconds_to_read(path):
    """CPU time of this process for reading a file of /proc."""
    before = time.process_time()
    pathlib.Path(path).read_bytes()
    return time.process_time() - before


@pytest.mark.costly(cases=1)
@pytest.mark.alone("it measures CPU time")
@pytest.mark.parametrize("size, pattern", [(100, "full"), (10000, "full"), (1000, "comb")])
def test_cost(dist, heapscope, target, tmp_path, size, pattern):
    """10,000 mappings and 1 GiB of heap: a ledger, with a snapshot, takes the collector twice the time in which the kernel
    writes smaps (ADR 37). That is the measure, as machines differ."""
    spent, smaps = [], []
    with recorded(dist, target, tmp_path, 10000, 1024, size, pattern) as (collector, pid, _):
        for _ in range(10):
            smaps.append(seconds_to_read(f"/proc/{pid}/smaps"))
            before = cpu_seconds(collector)
            snapshot(heapscope, pid, tmp_path / "now.pftrace")
            spent.append(cpu_seconds(collector) - before)
    print(f"{size} bytes, {pattern}: {sorted(spent)}, smaps {sorted(smaps)}")
    # All of the heap took four to seven times as long as smaps.
    assert min(smaps) / 2 < min(spent) < 3 * min(smaps), (spent, smaps)
