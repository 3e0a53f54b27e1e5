"""What the resident memory of a program consists of: `report --rss`, and the ledger in `report --json`."""

import contextlib
import json
import os
import re
import signal
import subprocess

import pytest
from conftest import clean_env
from waiting import wait_for_snapshot

MIB = 1 << 20
FREE = ("malloc_binned", "malloc_fast", "malloc_cached", "malloc_top")


@contextlib.contextmanager
def running(*args, **extra):
    """A program that says when it is ready, and ends with its standard input."""
    process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=clean_env(**extra))
    try:
        assert process.stdout.readline().startswith("ready")
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.stdin.close()
            process.wait(30)
        process.stdout.close()


@pytest.fixture
def known(target, tmp_path):
    """The program, and the file of 4 MiB that it maps."""
    file = tmp_path / "mapped"
    file.write_bytes(os.urandom(4 * MIB))
    return target("known_memory", "-pthread"), file


def rollup(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"^Rss:\s+(\d+) kB", file.read(), re.M)[1]) * 1024


def by_kind(ledger):
    kinds = {}
    for line in ledger["lines"]:
        kinds[line["kind"]] = kinds.get(line["kind"], 0) + line["rss_bytes"]
    return kinds


def attach(heapscope, pid, file):
    done = heapscope("attach", pid, "-q", "-d", "200ms", "-o", file)
    assert done.returncode == 0, done.stderr
    return file


def check_known(ledger, was_there=True):
    """The lines of the program known_memory.c. `was_there`: it had mapped its memory before the recording began."""
    kinds = by_kind(ledger)
    assert sum(kinds.values()) == ledger["rss_bytes"]
    assert 10 * MIB <= kinds["malloc_large"] <= 10 * MIB + 8192
    # A block of 200 bytes takes 208; what else the program has, and stdio, is small.
    assert 5000 * 208 <= kinds["malloc_used"] <= 5000 * 208 + 65536
    assert 35000 * 208 * 0.95 <= sum(kinds.get(kind, 0) for kind in FREE) <= 35000 * 208 + 256 * 1024
    shared, anonymous = kinds.get("shared", 0), kinds.get("anonymous", 0)
    if was_there:
        assert 2 * MIB <= shared <= 2 * MIB + 65536 and anonymous >= 5 * MIB
    else:
        assert 7 * MIB <= kinds["mmap"] <= 7 * MIB + 65536 and shared == 0
    assert 4 * MIB <= kinds["file"] <= 4 * MIB + 512 * 1024
    stacks = {line["name"]: line["rss_bytes"] for line in ledger["lines"] if line["kind"] == "stack"}
    assert set(stacks) == {"leader", "deep"}
    assert MIB <= stacks["deep"] <= MIB + 65536 and stacks["leader"] < MIB
    data = sum(line["rss_bytes"] for line in ledger["lines"] if line["kind"] == "data" and "/known_memory-" in line["name"])
    # Its array of pointers to 40,000 blocks is zeroed data, too.
    assert 3 * MIB + 320000 <= data <= 3 * MIB + 320000 + 65536


def test_lines_are_the_memory(heapscope, report, known, tmp_path):
    with running(*known) as process:
        file = attach(heapscope, process.pid, tmp_path / "x.pftrace")
        now = rollup(process.pid)
    ledger = report(file)["ledger"]
    check_known(ledger)
    # Pages of files come when they are read.
    assert abs(ledger["rss_bytes"] - now) <= MIB
    words = heapscope("report", "--rss", file).stdout
    assert re.search(r"10\.\d MiB .* malloc: blocks that the program holds, in mappings of their own \(1 block", words)
    assert re.search(r"100\.0 % .*in all", words)
    assert "malloc_trim(0) would give back" in words
    assert re.search(r"\d+\.\d MiB were resident [0-9.]+ m?s after the start: .* blocks from malloc",
                     " ".join(heapscope("report", file).stdout.split()))
    rows = heapscope("query", "--format", "json", file,
                     "SELECT kind, sum(rss_bytes) AS rss_bytes FROM heapscope_ledger WHERE dump_id = 0 GROUP BY 1")
    assert {row["kind"]: row["rss_bytes"] for row in json.loads(rows.stdout)} == by_kind(ledger)


def test_ended_program(run, known):
    """The ledger of a program that has ended is the last one that was read."""
    program, file = known
    done = run(["/bin/sh", "-c", 'sleep 1.5 | exec "$0" "$1"', program, file])
    process = next(p for p in done.report()["processes"] if "/known_memory-" in p["exe"])
    check_known(done.report("--pid", process["pid"])["ledger"], was_there=False)


def test_stopped_program(heapscope, report, known, dist, tmp_path):
    """Nothing of it has to run."""
    with running(*known) as process:
        recording = subprocess.Popen([dist / "bin" / "heapscope", "attach", str(process.pid), "-q", "-o",
                                      tmp_path / "x.pftrace"], env=clean_env())
        wait_for_snapshot(heapscope, process.pid, tmp_path / "first.pftrace")
        process.send_signal(signal.SIGSTOP)
        done = heapscope("snapshot", "-p", process.pid, "-o", tmp_path / "stopped.pftrace")
        process.send_signal(signal.SIGCONT)
        recording.send_signal(signal.SIGINT)
        recording.wait(60)
        assert done.returncode == 0, done.stderr
    check_known(report(tmp_path / "stopped.pftrace")["ledger"])


GROWS_FOR = """import time
begin, kept = time.monotonic(), []
while (passed := time.monotonic() - begin) < {seconds}:
    if len(kept) < 500 * passed / {seconds}:
        kept.append(b"x" * 100000)
    else:
        time.sleep(0.001)"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("seconds, share", [(0.15, 0.2), (0.5, 0.7)])
def test_short_program(run, seconds, share):
    """A program that grows until it ends has a ledger of a moment near its end."""
    shares = []
    for _ in range(3):
        done = run(["/usr/bin/python3", "-c", GROWS_FOR.format(seconds=seconds)])
        found = done.report()
        # The newest can be of the moment at which the program ends, and has freed what it had.
        read = [found[key]["rss_bytes"] for key in ("ledger", "rss_peak_ledger") if key in found]
        shares.append(max(read, default=0) / found["processes"][0]["rss_peak_bytes"])
    assert max(shares) >= share, shares


@pytest.mark.costly
def test_while_much_is_freed(run):
    """A heap that grows and shrinks all the time is read at the peak of RSS, too, but for a small part."""
    script = """import time
for _ in range(6):
    x = [bytearray(5000) for i in range(60000)]
    del x
    time.sleep(0.03)"""
    done = run(["/usr/bin/python3", "-c", script])
    found = done.report()
    for ledger in [found["ledger"], found.get("rss_peak_ledger", found["ledger"])]:
        assert ledger["is_malloc_read"]
        unread = sum(line["rss_bytes"] for line in ledger["lines"] if line["kind"] == "malloc_unread")
        assert unread < 0.2 * ledger["rss_bytes"]


def test_short_program_has_none(run, heapscope):
    done = run(["/bin/true"])
    assert "ledger" not in done.report()
    assert "This file does not say" in heapscope("report", "--rss", done.file).stdout


def test_rss_is_alone(heapscope, tmp_path):
    for other in ("--json", "--tree", "--health"):
        done = heapscope("report", "--rss", other, tmp_path / "x")
        assert done.returncode == 2 and "--rss cannot be shown together with" in done.stderr and other in done.stderr


def test_limit(run, heapscope, known, tmp_path):
    done = run([*known])
    peak = done.report()["processes"][0]["rss_peak_bytes"]
    assert peak > 25 * MIB
    assert heapscope("check", "--strict", "--max-rss", peak, done.file).returncode == 0
    failed = heapscope("check", "--max-rss", peak - 1, done.file)
    assert failed.returncode == 1 and "most resident memory: " in failed.stdout
    limits = tmp_path / "limits"
    limits.write_text("max-rss 1M\n")
    assert heapscope("check", "--limits", limits, done.file).returncode == 1


def test_limit_of_several(run, heapscope):
    """What was resident at one moment is only known to lie between the most of one and the sum."""
    done = run(["/bin/sh", "-c", "sleep 0.1; sleep 0.1; exit 0"])
    peaks = [p["rss_peak_bytes"] for p in done.report()["processes"]]
    assert len(peaks) > 1
    for limit, options, status, words in (
            (sum(peaks), ["--strict"], 0, "passed"), (max(peaks), [], 0, "contains the limit"),
            (max(peaks), ["--strict"], 1, "contains the limit"),
            (max(peaks) - 1, [], 1, "FAILED")):
        said = heapscope("check", "--max-rss", limit, *options, done.file)
        assert said.returncode == status and words in said.stdout, said.stdout


def test_limit_without_a_figure(heapscope, tmp_path):
    folded = tmp_path / "x.folded"
    folded.write_text("main;work 100\n")
    done = heapscope("check", "--max-rss", "1G", folded)
    assert done.returncode == 1 and "the file does not say how much was resident" in done.stdout


GROWS = """import sys
kept = [bytes(1000) for i in range(20000)]
print("ready", flush=True)
sys.stdin.readline()
kept = kept[::8]
print("freed", flush=True)
sys.stdin.readline()"""


def test_difference(heapscope, dist, tmp_path):
    """Memory that was freed in small pieces stays resident: malloc keeps it."""
    first, second = tmp_path / "first.pftrace", tmp_path / "second.pftrace"
    with running("/usr/bin/python3", "-c", GROWS) as process:
        recording = subprocess.Popen([dist / "bin" / "heapscope", "attach", str(process.pid), "-q", "-o",
                                      tmp_path / "x.pftrace"], env=clean_env())
        wait_for_snapshot(heapscope, process.pid, first)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "freed\n"
        done = heapscope("snapshot", "-p", process.pid, "-o", second)
        recording.send_signal(signal.SIGINT)
        recording.wait(60)
        assert done.returncode == 0, done.stderr
    said = heapscope("diff", first, second).stdout
    part = said[said.index("Resident memory"):]
    assert re.search(r"\+1[67]\.\d MiB +memory that malloc keeps free", part), said
    assert re.search("\N{MINUS SIGN}1[67]\\.\\d MiB +blocks from malloc", part), said
    resident = json.loads(heapscope("diff", "--json", first, second).stdout)["resident"]
    parts = {row["name"]: row["after_bytes"] - row["before_bytes"] for row in resident["parts"]}
    assert 16 * MIB < parts["memory that malloc keeps free"] < 18 * MIB
    assert abs(resident["after_bytes"] - resident["before_bytes"]) < MIB
