"""Of the memory of an allocator that is not the C library's, the ledger says how much is in recorded live blocks."""

import json
import re
import subprocess

import pytest
from preload import preloadable
from resident import need_ptrace
from test_ledger_names import LIBRARIES, MIB, PRELOADED, recorded, unexplained_share
from test_ledger_programs import check, check_recorded, need, running

HELD_BYTES = 30000 * 2048  # by test/target/allocates.c, which writes to all of them


def allocator_line(ledger):
    (line,) = [line for line in ledger["lines"] if line["kind"] == "allocator"]
    return line


@pytest.mark.costly(cases=2)
@PRELOADED
@pytest.mark.parametrize("interval", [1, 4096])
def test_blocks_that_are_known(heapscope, report, dist, target, tmp_path, library, name, interval):
    if not (LIBRARIES / library).exists():
        pytest.skip(f"{library} is not installed")
    preload = preloadable(LIBRARIES / library)
    file = tmp_path / "now.pftrace"
    with recorded(dist, tmp_path, [target("allocates"), "wait"], options=["-i", interval], LD_PRELOAD=preload) as pid:
        line = allocator_line(check_recorded(heapscope, report, pid, file))
    assert line["name"] == name
    if interval == 1:
        assert line["blocks_bytes"] == pytest.approx(HELD_BYTES, rel=0.002)  # what else the program holds
        assert line["blocks_low_bytes"] == line["blocks_bytes"] == line["blocks_high_bytes"]
    else:
        # One interval in a thousand is this far off.
        spread = line["blocks_high_bytes"] - line["blocks_low_bytes"]
        assert line["blocks_low_bytes"] - spread / 2 < HELD_BYTES < line["blocks_high_bytes"] + spread / 2
        assert 0 < spread < 0.1 * HELD_BYTES
    words = heapscope("report", "--rss", file).stdout
    assert re.search(rf" {name} \([\d.]+ MiB{'' if interval == 1 else ' .+'} in recorded live blocks\)", words)
    row = json.loads(heapscope("query", "--format", "json", file,
                               "SELECT blocks_bytes, blocks_low_bytes AS low, blocks_high_bytes AS high FROM heapscope_ledger "
                               "WHERE kind = 'allocator'").stdout)[0]
    assert (row["blocks_bytes"], row["low"], row["high"]) == pytest.approx(
        (line["blocks_bytes"], line["blocks_low_bytes"], line["blocks_high_bytes"]))


def test_pages_that_were_never_written(heapscope, report, dist, tmp_path):
    """Of 64 blocks of 1 MiB, a quarter of each is resident."""
    library = LIBRARIES / "libjemalloc.so.2"
    if not library.exists():
        pytest.skip("libjemalloc.so.2 is not installed")
    code = f"""
import ctypes, sys
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
for _ in range(64):
    ctypes.memset(malloc(ctypes.c_size_t({MIB})), 1, {MIB // 4})
print("ready", flush=True)
sys.stdin.read()
"""
    args = ["/usr/bin/python3", "-c", code]
    with recorded(dist, tmp_path, args, LD_PRELOAD=preloadable(library), PYTHONMALLOC="malloc") as pid:
        line = allocator_line(check_recorded(heapscope, report, pid, tmp_path / "now.pftrace"))
    assert 16 * MIB <= line["blocks_bytes"] <= 20 * MIB and line["size_bytes"] >= 64 * MIB


@pytest.mark.costly
def test_redis_frees_most_of_it(heapscope, report, dist, tmp_path):
    """Memory that jemalloc keeps is in no block, as jemalloc's own statistics say."""
    socket, file = tmp_path / "s", tmp_path / "now.pftrace"
    args = [need("redis-server"), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", tmp_path]

    def ask(*words):
        return subprocess.run(["redis-cli", "-s", socket, *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    def jemalloc_says():
        found = dict(re.findall(r"allocator_(\w+):(\d+)", ask("info", "memory")))
        return int(found["allocated"]), int(found["resident"])

    with recorded(dist, tmp_path, args, socket.exists) as pid:
        for begin in range(1, 200001, 20000):
            ask("eval", f"for i = {begin}, {begin + 19999} do redis.call('set', i, string.rep('x', 300)) end", "0")
        full = allocator_line(check_recorded(heapscope, report, pid, file))
        full_says = jemalloc_says()
        for begin in range(1, 200001, 20000):
            ask("eval", f"for i = {begin}, {begin + 19999} do if i % 8 ~= 0 then redis.call('del', i) end end", "0")
        empty = allocator_line(check_recorded(heapscope, report, pid, file))
        empty_says = jemalloc_says()
    for line, (allocated_bytes, resident_bytes) in [(full, full_says), (empty, empty_says)]:
        # jemalloc's figure contains what it rounds up to, and memory of the recorder's socket and lua.
        assert 0.75 * allocated_bytes < line["blocks_bytes"] < 1.05 * allocated_bytes
        assert line["rss_bytes"] == pytest.approx(resident_bytes, rel=0.1)
    assert empty["blocks_bytes"] < 0.35 * full["blocks_bytes"]
    assert empty["rss_bytes"] - empty["blocks_bytes"] > 24 * MIB


KEPT = """
import os, sys
kept = [str(i) * 8 for i in range(600000)]
for at in range(0, len(kept), 3):
    kept[at] = kept[at + 1] = None
"""
STATS = """
read, write = os.pipe()
os.dup2(write, 2)  # what it prints is shorter than the pipe
sys._debugmallocstats()
stats = os.read(read, 65536).decode()
used, = [line.split()[-1].replace(",", "") for line in stats.splitlines() if "bytes in allocated blocks" in line]
open(sys.argv[1], "w").write(used)
"""
WAIT = """
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", [1, 4096])
def test_python_arenas(heapscope, report, dist, tmp_path, interval):
    """Two of three objects are freed, and their arenas stay."""
    with recorded(dist, tmp_path, ["/usr/bin/python3", "-c", KEPT + WAIT], options=["-i", interval]) as pid:
        ledger = check_recorded(heapscope, report, pid, tmp_path / "now.pftrace")
    line = allocator_line(ledger)
    heap = {heap["name"]: heap for heap in report(tmp_path / "now.pftrace")["heaps"]}["python.obj"]
    assert line["name"] == "python.obj"
    assert line["blocks_bytes"] == pytest.approx(heap["live"]["bytes"], rel=0.01)
    # The sizes are rounded up to 16 bytes.
    assert line["blocks_low_bytes"] < line["used_bytes"] and line["used_bytes"] < 1.15 * line["blocks_high_bytes"]
    assert line["rss_bytes"] > 2.2 * line["used_bytes"]


def test_python_arenas_before_attaching(heapscope, report, dist, tmp_path):
    """What of them is in use is known from outside, as the interpreter says."""
    need_ptrace()
    used = tmp_path / "used"
    with running(["/usr/bin/python3", "-c", KEPT + STATS + WAIT, used]) as pid:
        ledger = check(heapscope, report, dist, pid, tmp_path)
    line = allocator_line(ledger)
    assert line["name"] == "python.obj" and line["rss_bytes"] > 48 * MIB
    assert line["used_bytes"] == pytest.approx(int(used.read_text()), rel=0.01)
    assert unexplained_share(ledger) <= 0.01


OBJECTS = """
import sys
keep = [{i: 0} for i in range(60000)] + ["string %d" % i for i in range(60000)]
open(sys.argv[1], "w").write(str(sum(map(sys.getsizeof, keep))))
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("options", [(), ("-i", 1), ("--exclude-heaps", "mmap")], ids=str)
def test_python_objects(heapscope, report, dist, tmp_path, options):
    """The arenas of Python's objects have the name of their heap, and are not among what is not explained."""
    size = tmp_path / "size"
    with recorded(dist, tmp_path, ["/usr/bin/python3", "-c", OBJECTS + WAIT, size], options=options) as pid:
        ledger = check_recorded(heapscope, report, pid, tmp_path / "now.pftrace")
    assert allocator_line(ledger)["name"] == "python.obj"
    assert allocator_line(ledger)["rss_bytes"] >= 0.9 * int(size.read_text())
    assert unexplained_share(ledger) <= 0.01
