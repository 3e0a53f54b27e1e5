"""Free memory between blocks in use: the ledger has the figures of glibc's own malloc_info() and mallinfo2()."""

import pathlib
import re
import subprocess

import pytest
from conftest import clean_env
from test_pinned_pages import pid_of
from waiting import wait_for_snapshot

FREE = ("malloc_binned", "malloc_fast", "malloc_top")


def free_of(xml):
    """The free bytes of malloc_info(): those at the end are the sums over all arenas."""
    return sum(int(re.findall(rf'<total type="{kind}" count="\d+" size="(\d+)"/>', xml)[-1]) for kind in ("fast", "rest"))


def look(dist, heapscope, report, target, folder, pattern, interval, **env):
    """What the program prints of itself, what malloc_trim() gives back in it, and its ledger."""
    file = folder / "now.pftrace"
    program = target("fragments", "-pthread")
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", interval, "-o", folder / "x.pftrace", "--", program, pattern]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env(**env)) as process:
        said = process.stdout.readline().split(" ", 3)
        pid = pid_of(process, program)
        wait_for_snapshot(heapscope, pid, file)
        process.stdin.write("trim\n")
        process.stdin.flush()
        returned = int(said[0]) - int(process.stdout.readline())
        process.stdin.close()
        assert process.wait(60) == 0
    return said, returned, report(file)["ledger"]


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("interval", [1, 4096])
@pytest.mark.parametrize("pattern", ["comb", "large comb", "another thread", "arenas"])
def test_figures_of_glibc(dist, heapscope, report, target, tmp_path, pattern, interval):
    (_, free, arena, xml), returned, ledger = look(dist, heapscope, report, target, tmp_path, pattern, interval)
    found = {line["kind"]: line for line in ledger["lines"] if line["kind"].startswith("malloc_")}
    sizes = {kind: line["size_bytes"] for kind, line in found.items()}
    free_bytes = sum(sizes.get(kind, 0) for kind in FREE)
    assert free_bytes == pytest.approx(int(free), rel=0.01) == pytest.approx(free_of(xml), rel=0.01)
    whole = sum(size for kind, size in sizes.items() if kind != "malloc_large")
    assert whole == pytest.approx(int(arena), rel=0.01)
    # All of it was written to, but for the ends of arenas.
    between = found["malloc_binned"]
    assert between["rss_bytes"] == pytest.approx(between["size_bytes"], rel=0.01)
    assert between["rss_bytes"] > 0.6 * int(arena)
    assert returned == pytest.approx(ledger["malloc_trim_bytes"], rel=0.05, abs=65536)
    assert returned > 8 << 20 or pattern != "large comb"
    assert ledger["malloc_arena_count"] > 1 or pattern != "arenas"


@pytest.mark.parametrize("pattern, remedy, setting", [("ends", "malloc_trim_threshold", "MALLOC_TRIM_THRESHOLD_"),
                                                      ("pieces", "malloc_mmap_threshold", "MALLOC_MMAP_THRESHOLD_")])
def test_remedy(dist, heapscope, report, target, tmp_path, pattern, remedy, setting):
    """A setting of malloc is named where it gives memory back, and gives it back."""
    before, _, ledger = look(dist, heapscope, report, target, tmp_path, pattern, 4096)
    remedies = {row["remedy"]: row["bytes"] for row in ledger["remedies"]}
    assert set(remedies) == {"malloc_trim", remedy} and remedies[remedy] > 12 << 20
    words = " ".join(heapscope("report", "--rss", tmp_path / "now.pftrace").stdout.split())
    assert f"{setting}=131072 in the environment" in words
    after, _, ledger = look(dist, heapscope, report, target, tmp_path, pattern, 4096, **{setting: "131072"})
    assert ledger["remedies"] == []
    assert int(before[0]) - int(after[0]) > 0.9 * remedies[remedy]


def test_remedy_of_jemalloc(dist, heapscope, report, target, tmp_path):
    """jemalloc keeps freed pages for some time, unless its setting says otherwise."""
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        pytest.skip("libjemalloc is not installed")
    resident, bytes_of = {}, {}
    for setting in ("dirty_decay_ms:60000", "dirty_decay_ms:0,muzzy_decay_ms:0"):
        said, _, ledger = look(dist, heapscope, report, target, tmp_path, "ends", 4096, LD_PRELOAD=str(library), MALLOC_CONF=setting)
        resident[setting] = int(said[0])
        bytes_of[setting] = {row["remedy"]: row["bytes"] for row in ledger["remedies"]}.get("jemalloc_decay", 0)
        words = " ".join(heapscope("report", "--rss", tmp_path / "now.pftrace").stdout.split())
        assert ("MALLOC_CONF=dirty_decay_ms:0" in words) == (bytes_of[setting] > 0)
    late, at_once = resident
    assert bytes_of[late] > 12 << 20 and bytes_of[at_once] == 0
    assert resident[late] - resident[at_once] > 0.8 * bytes_of[late]
